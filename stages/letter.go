package stages

import (
	"context"
	"io"
	"time"
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
	// Write stores one letter. Its error, or a panic, ends the run. ctx ends when the run is stopped.
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
	Attempts int
	Time     time.Time
	Errors   []string // the chain, outermost first
	Codec    string   // of Payload
	Payload  []byte   // the stage's input; for a source, nothing
}
