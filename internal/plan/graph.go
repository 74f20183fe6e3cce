package plan

import (
	"context"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
)

// A Graph is a validated pipeline, stages in topological order. It is immutable.
type Graph struct {
	Name   string
	Stages []*Stage
	Outlet Port         // whose items leave the graph
	Hooks  []Hook       // around its stages, the outermost first
	Codec  codecs.Codec // of items that leave the process


	HookCount int // all hooks, those around items among them

	// Errors are sentinels that are recognised by their place here when they come from another process, and ErrorTypes
	// types of errors.
	Errors     []error
	ErrorTypes []ErrorType
	ErrorCodec *msgpack.Codec // of errors; nil: nobody has made one
