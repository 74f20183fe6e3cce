package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
	"github.com/weirflow/weir/supervisor"
)

// What docs/failure-handling.md shows of workers, sources, side effects, dead letters and ends.

// A connection is what one worker has opened.
type connection struct{}

func (connection) ask(_ context.Context, question string) (string, error) { return question, nil }

// What cannot be opened is opened again, after pauses, until it has been often enough.
func Example_restart() {
	dial := func(context.Context) (connection, error) { return connection{}, errors.New("connection refused") }
	p := define(func(g *stages.Graph) stages.Stream[string] {
		questions := stages.Source(g, "questions", stages.FromSlice([]string{"why?"}))
		return stages.MapWith(questions, "ask", dial, connection.ask, stages.Restart{
			Max:    3,                     // within Within, a minute if nothing is said
			First:  10 * time.Millisecond, // before the second restart in a row, then twice as long each time
			Pause:  time.Second,           // never longer
			Within: time.Minute,
		})
	})
	for _, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), p, nil) {
		died, ok := errors.AsType[*stages.RestartError](err)
		fmt.Println(ok, errors.Is(err, stages.ErrRestarts), died.Stage, died.Restarts, len(died.Causes))
		fmt.Println(died.Causes[0])
	}
	// Output:
	// true true ask 3 4
	// open: connection refused
}

// The connections of two stages belong to one session: if one is opened anew, so is the other.
func Example_together() {
	words := make(chan string, 2)
	words <- "one"
	words <- "two"
	restarts := 0
	sup := supervisor.New(supervisor.Config{OnEvent: func(e supervisor.Event) {
		if e, ok := e.(supervisor.WorkerRestarted); ok {
			fmt.Println(e.Stage)
			if restarts++; restarts == 2 {
				close(words)
			}
		}
	}})
	login := func(context.Context) (connection, error) { return connection{}, nil }
	query := func(_ connection, ctx context.Context, q string) (string, error) {
		if q == "two" && stages.Attempt(ctx) == 1 {
			panic("the session is gone")
		}
		return q, nil
	}
	p := define(func(g *stages.Graph) stages.Stream[string] {
		in := stages.Source(g, "words", stages.FromChan(words))
		names := stages.MapWith(in, "names", login, connection.ask)
		return stages.MapWith(names, "query", login, query, stages.Restart{Together: []string{"names"}})
	})
	for _, err := range supervisor.Items(context.Background(), sup, p, nil) {
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// query
	// names
}

// A folder in which one file cannot be opened. The list goes on behind it.
func Example_sourceFailure() {
	open := func(ctx context.Context, at stages.Position) iter.Seq2[string, error] {
		names := []string{"a", "b", "c"}
		return func(yield func(string, error) bool) {
			for _, name := range names[at.Index:] {
				var err error
				if name == "b" {
					err = fmt.Errorf("open %s: %w", name, os.ErrPermission)
				}
				if !yield(name, err) {
					return
				}
			}
		}
	}
	p := define(func(g *stages.Graph) stages.Stream[string] {
		return stages.Source(g, "names", stages.FromFunc(open), stages.OnError(stages.Skip(1)))
	})
	for name, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), p, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(name)
	}
	// Output:
	// a
	// c
}

// What is written twice under one key is there once.
func Example_sideEffects() {
	table := map[stages.ID]string{}
	writes := 0
	p := define(func(g *stages.Graph) stages.Stream[string] {
		rows, store := stages.Tee(stages.Source(g, "rows", stages.FromSlice([]string{"x", "y"})), "copy")
		stages.Sink(store, "store", func(ctx context.Context, row string) error {
			table[stages.ItemID(ctx)] = row // again, if an attempt has failed behind this line
			writes++
			if row == "y" && stages.Attempt(ctx) == 1 {
				panic("after the write")
			}
			return nil
		})
		return rows
	})
	for _, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), p, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(writes, "writes,", len(table), "rows")
	// Output: 3 writes, 2 rows
}

// An Orders is the Config of a pipeline that has dead letters.
type Orders struct {
	Lines   []string
	Letters string // the path of a file
	Comma   rune
}

var orders = stages.Define("orders", func(g *stages.Graph, cfg Orders) stages.Stream[int] {
	lines := stages.Source(g, "lines", stages.FromSlice(cfg.Lines))
	return stages.Map(lines, "cents", cfg.cents, stages.OnError(stages.DeadLetter(deadletter.File(cfg.Letters), 1000)))
})

func (cfg Orders) cents(_ context.Context, line string) (int, error) {
	var euros, cents int
	_, err := fmt.Sscanf(line, "%d"+string(cfg.Comma)+"%d", &euros, &cents)
	return 100*euros + cents, err
}

func Example_deadLetters() {
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, sup := context.Background(), supervisor.New(supervisor.Config{})

	cfg := Orders{Lines: []string{"1.50", "3,99", "0.05"}, Letters: filepath.Join(dir, "monday.jsonl"), Comma: '.'}
	for cents, err := range supervisor.Items(ctx, sup, orders.With(cfg), nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(cents)
	}

	for letter, err := range deadletter.Read(cfg.Letters) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(letter.Stage, letter.Item, letter.Attempts, letter.Errors[0])
	}

	again := Orders{Letters: filepath.Join(dir, "tuesday.jsonl"), Comma: ','} // now that it is known why
	letters := supervisor.Replay(deadletter.Read(cfg.Letters))
	for cents, err := range supervisor.Items(ctx, sup, orders.With(again), nil, letters) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(cents)
	}
	// Output:
	// 150
	// 5
	// cents lines/0/1 1 input does not match format
	// 399
}

func Example_failureEvents() {
	p := define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(3)), "f", func(ctx context.Context, v int) (int, error) {
			switch {
			case v == 1 && stages.Attempt(ctx) == 1:
				panic("slipped")
			case v == 2:
				return 0, errors.New("not this one")
			}
			return v, nil
		}, stages.OnError(stages.Skip(1)))
	})
	tell := func(e supervisor.Event) {
		switch e := e.(type) {
		case supervisor.ItemRetried:
			fmt.Println("attempt", e.Attempt, "at", e.Item, "has failed; the next one in", e.Retry)
		case supervisor.WorkerRestarted:
			fmt.Println("worker", e.Worker, "of", e.Stage, "begins its life", e.Lives, "in", e.Retry)
		case supervisor.ItemFailed:
			fmt.Println(e.Err, "- failure", e.Failures, "of the stage")
		case supervisor.StageHung:
			fmt.Println(e.Err, e.Err.Stack)
		case supervisor.RunEnded:
			fmt.Println("ended:", e.Err, e.Stats.Failed)
		}
	}
	ctx, sup := context.Background(), supervisor.New(supervisor.Config{OnEvent: tell})
	run, err := supervisor.Deploy(ctx, sup, p, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range run.Items(ctx) {
	}
	if err := run.Wait(ctx); err != nil { // until all has been told
		fmt.Println(err)
	}
	// Output:
	// attempt 1 at ints/0/1 has failed; the next one in 0s
	// worker 0 of f begins its life 2 in 0s
	// stage "f": item ints/0/2 failed: not this one - failure 1 of the stage
	// ended: <nil> 1
}

// The end of a context says why, if it has been told.
func Example_canceled() {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	run, err := supervisor.Deploy(context.Background(), supervisor.New(supervisor.Config{}), squares.With(1000), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	for v, err := range run.Items(ctx) {
		if err != nil {
			fmt.Println(err)
			break
		}
		if v == 4 {
			cancel(errors.New("that is enough"))
		}
	}
	fmt.Println(run.Err())
	// Output:
	// that is enough
	// that is enough
}

// explain says what has ended a run.
func explain(err error) string {
	run, ok := errors.AsType[*supervisor.RunError](err)
	if !ok {
		return "ended from outside: " + err.Error()
	}
	first := run.Causes[0]
	if r, ok := errors.AsType[*stages.RestartError](first); ok { // before what it wraps: panics and failed opens
		return fmt.Sprintf("stage %s died again after %d restarts", r.Stage, r.Restarts)
	}
	why := "an item"
	switch {
	case errors.Is(first, stages.ErrBudget):
		why = "one item too many"
	case errors.Is(first, stages.ErrFatal):
		why = "an item for which no policy counts"
	}
	item, ok := errors.AsType[*stages.ItemError](first)
	if !ok {
		return first.Error() // a flush, a hook, a dead-letter sink, a fatal task
	}
	if p, ok := errors.AsType[*stages.PanicError](first); ok {
		return fmt.Sprintf("%s: %v panicked: %s", why, item.Item, p.Value)
	}
	if errors.Is(first, stages.ErrHung) {
		return fmt.Sprintf("%s: %v hangs", why, item.Item)
	}
	return fmt.Sprintf("%s: %v: %v", why, item.Item, item.Err)
}

func Example_explain() {
	var attempts atomic.Int64
	for _, f := range []func(context.Context, int) (int, error){
		func(_ context.Context, v int) (int, error) { return 0, errors.New("no") },
		func(_ context.Context, v int) (int, error) { return 0, stages.Fatal(errors.New("never")) },
		func(_ context.Context, v int) (int, error) { attempts.Add(1); panic("oh") },
	} {
		p := define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(2)), "f", f, stages.OnError(stages.Skip(1)), stages.Retry{First: time.Microsecond})
		})
		for _, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), p, nil) {
			fmt.Println(explain(err))
		}
	}
	fmt.Println(attempts.Load(), "attempts")
	fmt.Println(explain(supervisor.ErrStopped))
	// Output:
	// one item too many: ints/0/1: no
	// an item for which no policy counts: ints/0/0: never
	// one item too many: ints/0/1 panicked: oh
	// 6 attempts
	// ended from outside: supervisor: run stopped
}
