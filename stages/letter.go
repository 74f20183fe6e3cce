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
	// Shape says of what type Payload is: codecs.Type.Shape of the stage's input; of one longer than 500 bytes the
	// beginning, and a checksum. supervisor.Replay refuses a letter of another shape than the stage's input has by then, since
	// the default codec writes fields by position: it would put values into the wrong ones. "" is not compared: so say
	// letters that are made by hand, and those of a sink that does not keep it.
	Shape   string
	Payload []byte // the stage's input; for a source, nothing
}

// LetterFrom is LetterOf for an item that failed in another process, which has encoded it. For the packages of this module.
func LetterFrom(g *plan.Graph, failed *ItemError, payload []byte) Letter {
	l := newLetter(g, failed)
	l.describe(g)
	l.Payload = payload
	return l
}

// LetterOf returns the letter of an item of g that has failed for good: the one at at of input, or that of a source, without
// an input, which is nil then. It runs user code. For the packages of this module.
func LetterOf(g *plan.Graph, failed *ItemError, input plan.Chunk, at int) (Letter, error) {
	l := newLetter(g, failed)
	if input == nil {
		return l, nil
	}
	l.describe(g)
	var err error
	if l.Payload, err = input.Encode(g.Codec, nil, at); err != nil {
		return Letter{}, fmt.Errorf("item %v cannot be encoded: %w", l.Item, err)
	}
	return l, nil
}

func newLetter(g *plan.Graph, failed *ItemError) Letter {
	return Letter{
		Pipeline: g.Name, Stage: failed.Stage, Item: failed.Item, Attempts: failed.Attempts, Time: time.Now(), Errors: chain(failed.Err),
	}
}

// describe says what the payload is.
func (l *Letter) describe(g *plan.Graph) {
	l.Codec = g.Codec.Name()
	for _, s := range g.Stages {
		if s.Far != nil {
			s = s.Far.Of
		}
		if s.Name == l.Stage {
			l.Shape = letterShape(g.Input(s))
		}
	}
}

// CheckLetters says of which stages of g the input cannot become a dead letter, although their policy makes it one: each is
// a *DefinitionError, and wraps codecs.ErrNotEncodable. For the packages of this module.
func CheckLetters(g *plan.Graph) (err error) {
	for _, s := range g.Stages {
		if s.Policy.Letters == nil || len(s.In) == 0 {
			continue
		}
		if cannot := g.Codec.Check(g.Input(s)); cannot != nil {
			fault := &DefinitionError{g.Name, s.Name, s.File, s.Line, fmt.Sprintf("its input cannot be a dead letter: %v", cannot)}
			err = errors.Join(err, caused{fault, cannot})
		}
	}
	return err
}

// caused is a fault that has a cause.
type caused struct {
	*DefinitionError
	cause error
}

func (e caused) Unwrap() []error { return []error{e.DefinitionError, e.cause} }

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
