package stages

import (
	"errors"

	"github.com/weirflow/weir/internal/plan"
)

// EncodeError is a placeholder.
func EncodeError(_ *plan.Graph, err error) []byte { return []byte(err.Error()) }

// DecodeError is a placeholder.
func DecodeError(_ *plan.Graph, b []byte) error { return errors.New(string(b)) }
