package main

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/weirflow/weir/stages"
)

// Config is all that the pipeline depends on: it travels to wherever the pipeline runs.
type Config struct {
	Items      int64 // the numbers 1 to Items
	PanicEvery int64 // every so many, "shaky" panics once; 0: never
	FailEvery  int64 // every so many, "decode" fails; 0: never
}

var errCorrupt = errors.New("corrupt")

// Nothing here is about restarts: a worker that panics is replaced, and its item tried again, unless one says otherwise.
var shaky = stages.Define("restart", func(g *stages.Graph, cfg Config) stages.Stream[int64] {
	numbers := stages.Source(g, "count", stages.FromFunc(cfg.count))
	decoded := stages.Map(numbers, "decode", cfg.decode, stages.Mailbox(4), stages.Ordered,
		stages.OnError(stages.Skip(stages.Fraction(0.05))))
	return stages.Map(decoded, "shaky", cfg.shake, stages.Mailbox(4), stages.Ordered)
})

func (c Config) count(_ context.Context, from stages.Position) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for n := from.Index + 1; n <= c.Items; n++ {
			if !yield(n, nil) {
				return
			}
		}
	}
}

// decode stands for a decoder that cannot read some of what it is given: another attempt would not help.
func (c Config) decode(_ context.Context, n int64) (int64, error) {
	if c.corrupt(n) {
		return 0, fmt.Errorf("item %d: %w", n, errCorrupt)
	}
	return n, nil
}

// shake stands for code with a bug that shows now and then.
func (c Config) shake(ctx context.Context, n int64) (int64, error) {
	if every(c.PanicEvery, n) && stages.Attempt(ctx) == 1 {
		panic(fmt.Sprintf("item %d", n))
	}
	return n, nil
}

// corrupt reports whether decode fails for n. The others must come out.
func (c Config) corrupt(n int64) bool { return every(c.FailEvery, n) }

func every(k, n int64) bool { return k > 0 && n%k == 0 }
