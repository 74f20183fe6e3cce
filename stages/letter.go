package stages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weirflow/weir/internal/plan"
)

// A LetterSink describes a place for dead letters. deadletter.File is one. It is opened in the deploying process, wherever
// the stage runs, before the run starts: one that cannot be opened fails the deployment. Several stages may share a sink:
// equal values are opened once.
type LetterSink interface {
	OpenLetters(ctx context.Context) (LetterWriter, error)
}

// A LetterWriter stores dead letters. It is used by one goroutine at a time, and closed when the run has no use for it any
// more.
type LetterWriter interface {
	// Write stores one letter. Its error, or a panic, ends the run. ctx ends when the run is stopped. The memory of
	// l.Payload is used again for the next letter: a writer that keeps it copies it.
	Write(ctx context.Context, l Letter) error
	// Sync makes what was written survive the process and, where that is possible, the machine. It is called after each
	// Write, or once for several of them.
	Sync() error
	io.Closer
}

// A Letter is an item that failed for good, as the failing stage received it.
type Letter struct {
	Pipeline string
	Stage    string
	Item     ID
	Attempts int       // at the item, the first included
	Time     time.Time // when it had failed for good, by the wall clock
	Errors   []string  // the chain, outermost first
	Codec    string    // of Payload; "" if there is none
	Payload  []byte    // the stage's input; for a source, nothing
}

// LetterOf returns the letter of an item of g that has failed for good: the one at at of input, or that of a source, without
// an input, which is nil then. It runs user code. For the packages of this module.
func LetterOf(g *plan.Graph, failed *ItemError, input plan.Chunk, at int) (Letter, error) {
	l := Letter{
		Pipeline: g.Name, Stage: failed.Stage, Item: failed.Item, Attempts: failed.Attempts, Time: time.Now(), Errors: chain(failed.Err),
	}
	if input == nil {
		return l, nil
	}
	l.Codec = g.Codec.Name()
	var err error
	if l.Payload, err = input.Encode(g.Codec, nil, at); err != nil {
		return Letter{}, fmt.Errorf("item %v cannot be encoded: %w", l.Item, err)
	}
	return l, nil
}

// mostErrors bounds the chain that is told of one item: errors are user code, and may unwrap to themselves.
const mostErrors = 100

// chain is what err and the errors in it say, outermost first, those of errors.Join in turn.
func chain(err error) (all []string) {
	todo := []error{err}
	for len(todo) > 0 && len(all) < mostErrors {
		err, todo = todo[0], todo[1:]
		if err == nil {
			continue
		}
		text := err.Error()
		if n := len(all); n == 0 || all[n-1] != text { // a mark is transparent
			all = append(all, text)
		}
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			todo = append(append([]error{}, many.Unwrap()...), todo...)
		} else if inner := errors.Unwrap(err); inner != nil {
			todo = append([]error{inner}, todo...)
		}
	}
	return all
}
