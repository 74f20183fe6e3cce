package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// An ear is a listener that counts what it hears and what it is told to have missed.
type ear struct {
	heard, lost int64
	do          func(n int64) // at its n-th event
	over        chan bool     // closed at the run's last event
}

func (e *ear) listen(x supervisor.Event) {
	if l, ok := x.(supervisor.EventsLost); ok {
		e.lost += l.Count
		return
	}
	defer func() {
		if _, ok := x.(supervisor.RunEnded); ok {
			close(e.over)
		}
	}()
	e.do(e.heard + e.lost)
	e.heard++
}

// trouble is a pipeline of which there is much to tell, and which takes its time: a hundred seconds.
func trouble(n int) stages.Pipeline[int] {
	return define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(n)), "f", func(ctx context.Context, v int) (int, error) {
			if v%(n/100) == 0 && stages.Attempt(ctx) == 1 {
				wait(ctx, time.Second, false)
				panic("once")
			}
			if v%2 == 1 {
				return 0, errBad
			}
			return v, nil
		}, stages.OnError(stages.Skip(n)))
	})
}

// Whatever a listener does, the run does not notice; and it learns how much it has missed: all that happened was heard or
// counted as lost.
func TestF46AListenerIsNoPartOfTheRun(t *testing.T) {
	const n = 10_000
	all := 0
	never := make(chan bool)
	for _, c := range []struct {
		name string
		do   func(n int64)
		lost int64 // at least
	}{
		{"that listens", func(int64) {}, 0},
		{"that panics now and then", func(n int64) {
			if n%50 == 0 {
				panic("mine")
			}
		}, 20},
		{"that panics always", func(int64) { panic("mine") }, 1000},
		{"that ends its goroutine", func(n int64) {
			if n%50 == 0 {
				runtime.Goexit()
			}
		}, 20},
		{"that is slow", func(int64) { wait(context.Background(), time.Second, true) }, 1000},
		{"that blocks", func(int64) { <-never }, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				never = make(chan bool)
				e := &ear{do: c.do, over: make(chan bool)}
				begun := time.Now()
				run := deploy(t, trouble(n), supervisor.Config{OnEvent: e.listen})
				var out []int
				for v, err := range run.Items(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, v)
				}
				if err := run.Stop(); err != nil {
					t.Error(err)
				}
				if d := time.Since(begun); d != 100*time.Second || run.Err() != nil {
					t.Errorf("took %v, and the run's error is %v", d, run.Err())
				}
				if s := run.Stats(); len(out) != n/2 || s.Delivered != n/2 || s.Failed != n/2 || s.Restarts != 100 {
					t.Errorf("%d items, %+v", len(out), s)
				}
				if c.name == "that listens" {
					<-e.over
					all = int(e.heard)
				}
				close(never)
				time.Sleep(3 * time.Hour) // it may take as long as it likes
				synctest.Wait()
				if got := e.heard + e.lost; c.name != "that panics always" && got != int64(all) || e.lost < c.lost && c.name != "that panics always" {
					t.Errorf("%d heard, %d lost, of %d", e.heard, e.lost, all)
				}
				// A loop over the events has them all the same: the last thousand.
				last, count := supervisor.Event(nil), 0
				for x := range run.Events(t.Context()) {
					last = x
					count++
				}
				if _, ok := last.(supervisor.RunEnded); !ok || count != 1000 {
					t.Errorf("%d events are kept, the last is %T", count, last)
				}
			})
		})
	}
	if all < n/2+200 {
		t.Errorf("%d events: it shows nothing", all)
	}
}

// A log whose writer blocks, panics or fails is a listener as any other.
func TestF46ALogThatCannotBeWrittenIsNoPartOfTheRun(t *testing.T) {
	for name, w := range map[string]func(p []byte) (int, error){
		"panics": func([]byte) (int, error) { panic("mine") },
		"fails":  func([]byte) (int, error) { return 0, errFull },
		"is short": func(p []byte) (int, error) {
			return len(p) / 2, nil
		},
		"is slow": func(p []byte) (int, error) {
			wait(context.Background(), time.Minute, true)
			return len(p), nil
		},
	} {
		for kind, listen := range map[string]func(func(p []byte) (int, error)) func(supervisor.Event){
			"zerolog": func(w func(p []byte) (int, error)) func(supervisor.Event) {
				return supervisor.LogEvents(zerolog.New(writing(w)))
			},
			"slog": func(w func(p []byte) (int, error)) func(supervisor.Event) {
				return supervisor.LogEventsSlog(slog.New(slog.NewTextHandler(writing(w), nil)))
			},
		} {
			if kind == "zerolog" && (name == "fails" || name == "is short") {
				continue // it tells os.Stderr
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begun := time.Now()
					run := deploy(t, trouble(1000), supervisor.Config{OnEvent: listen(w)})
					count := 0
					for _, err := range run.Items(t.Context()) {
						if err != nil {
							t.Fatal(err)
						}
						count++
					}
					if d := time.Since(begun); count != 500 || d != 100*time.Second || run.Err() != nil {
						t.Errorf("%d items in %v, %v", count, d, run.Err())
					}
					time.Sleep(24 * time.Hour)
				})
			})
		}
	}
}

type writing func(p []byte) (int, error)

func (w writing) Write(p []byte) (int, error) { return w(p) }

// The actor library's own log is written by whoever has something to say, so it may not be slow; but it is silent unless
// something is wrong with weir itself.
func TestF46TheActorLibraryHasNothingToSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		r := play(t, trouble(1000), supervisor.Config{Logger: zerolog.New(&b)})
		if r.err != nil || b.Len() > 0 {
			t.Errorf("%v, %s", r.err, b.String())
		}
	})
}

// Background tasks that panic, hang on to the statistics or take their time are no part of the data's way either.
func TestF46ABackgroundTaskIsNoPartOfTheDatasWay(t *testing.T) {
	for name, f := range map[string]func(ctx context.Context, s func() supervisor.Stats) error{
		"panics":  func(context.Context, func() supervisor.Stats) error { panic("mine") },
		"ends":    func(context.Context, func() supervisor.Stats) error { runtime.Goexit(); return nil },
		"fails":   func(context.Context, func() supervisor.Stats) error { return errBad },
		"is slow": func(ctx context.Context, _ func() supervisor.Stats) error { return wait(ctx, time.Hour, false) },
		"asks a lot": func(ctx context.Context, s func() supervisor.Stats) error {
			for wait(ctx, time.Millisecond, false) == nil {
				checkSum(s())
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				r := play(t, trouble(1000), supervisor.Config{Background: []supervisor.Task{{Name: "task", Run: f}}})
				if d := time.Since(begun); r.err != nil || len(r.out) != 500 || d != 100*time.Second {
					t.Errorf("%d items in %v, %v", len(r.out), d, r.err)
				}
				failed := told[supervisor.TaskFailed](r.events)
				if fails := name == "panics" || name == "ends" || name == "fails"; fails != (len(failed) == 1) {
					t.Errorf("told %+v", failed)
				}
			})
		})
	}
}

// checkSum panics if the counts do not add up, at any moment.
func checkSum(s supervisor.Stats) {
	if s.Yielded != s.Delivered+s.Filtered+s.Failed+s.InFlight || s.InFlight < 0 {
		panic(errors.New(fmt.Sprint("the counts do not add up: ", s)))
	}
}
