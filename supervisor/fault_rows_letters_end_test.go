package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// wrongs is a source of 0 .. n-1 that fails for some of them.
func wrongs(n int, fails func(v int) bool) stages.Origin[int] {
	return stages.FromSeq(faulty(n, func(v int) error {
		if fails(v) {
			return fmt.Errorf("item %d: %w", v, errBad)
		}
		return nil
	}))
}

func fifth(v int) bool { return v%5 == 4 }

// A letter of a source that cannot be stored ends the run behind what was yielded before.
func TestF02ALetterOfASourceThatCannotBeStoredEndsTheRun(t *testing.T) {
	for name, a := range map[string]*archive{
		"the third write fails": {write: func(_ context.Context, n int) error { return map[bool]error{n == 2: errFull}[true] }},
		"the third write panics": {write: func(_ context.Context, n int) error {
			if n == 2 {
				panic(errFull)
			}
			return nil
		}},
		"no sync":        {sync: func() error { return errFull }},
		"nothing at all": {write: func(context.Context, int) error { return errFull }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
					return stages.Source(g, "f", wrongs(100, fifth), stages.OnError(stages.DeadLetter(a, 100)))
				}), supervisor.Config{})
				run, ok := errors.AsType[*supervisor.RunError](r.err)
				if !ok || len(run.Causes) != 1 || !errors.Is(r.err, errBad) || !strings.Contains(r.err.Error(), errFull.Error()) || !strings.Contains(r.err.Error(), `stage "f": its dead-letter sink failed`) {
					t.Errorf("got %v", r.err)
				}
				if int64(a.stored) != r.stats.Failed || int64(a.stored) != r.stats.Stages[0].Letters || a.open != 0 {
					t.Errorf("%d are stored, %d have failed, open %d times", a.stored, r.stats.Failed, a.open)
				}
				if got := told[supervisor.ItemFailed](r.events); len(got) != a.stored {
					t.Errorf("%d failures are told, %d letters are stored", len(got), a.stored)
				}
				wantItems(t, r.out, withoutFifths(100)[:4*(a.stored+1)])
			})
		})
	}
}

func withoutFifths(n int) (all []int) {
	for v := range n {
		if !fifth(v) {
			all = append(all, v)
		}
	}
	return all
}

// While a source's letter is being stored the run is stopped, drained, or fails elsewhere: the letter that comes back finds
// nobody, or is the last thing that counts.
func TestF02ALetterOfASourceThatComesBackLate(t *testing.T) {
	const takes = 10 * time.Second
	for name, c := range map[string]struct {
		deaf bool
		end  func(run *supervisor.Run[int])
		want error
	}{
		"stopped":             {false, func(run *supervisor.Run[int]) { run.Stop() }, supervisor.ErrStopped},
		"stopped, and deaf":   {true, func(run *supervisor.Run[int]) { go run.Stop() }, supervisor.ErrStopped},
		"drained":             {true, func(run *supervisor.Run[int]) { run.Drain() }, nil},
		"drained and stopped": {true, func(run *supervisor.Run[int]) { run.Drain(); go run.Stop() }, supervisor.ErrStopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &archive{write: func(ctx context.Context, _ int) error { return wait(ctx, takes, c.deaf) }}
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					return stages.Source(g, "f", wrongs(100, fifth), stages.OnError(stages.DeadLetter(a, 100)))
				}), supervisor.Config{Grace: time.Minute})
				time.AfterFunc(takes+takes/2, func() { c.end(run) }) // the second letter is under way
				var out []int
				var last error
				for v, err := range run.Items(t.Context()) {
					if last = err; err == nil {
						out = append(out, v)
					}
				}
				run.Wait(t.Context())
				s := run.Stats()
				checkEnd(t, s, run.Err())
				if last != c.want || run.Err() != c.want || a.open != 0 {
					t.Errorf("the last turn is %v, the run's error %v, want %v; the sink is open %d times", last, run.Err(), c.want, a.open)
				}
				if c.want == nil && int64(a.stored) != s.Failed || s.Failed > int64(a.stored) {
					t.Errorf("%d failed, %d letters are stored", s.Failed, a.stored)
				}
				wantItems(t, out, withoutFifths(100)[:len(out)])
			})
		})
	}
}

// A source's iterator that panics while the letter of an earlier item is being stored is replaced, and goes on behind it.
func TestF02ASourceThatDiesWhileItsLetterIsStoredGoesOn(t *testing.T) {
	for _, takes := range []time.Duration{0, time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			a := &archive{write: func(ctx context.Context, _ int) error { return wait(ctx, takes, false) }}
			lives := 0
			r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Source(g, "f", stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
					lives++
					return func(yield func(int, error) bool) {
						for v := int(from.Index); v < 30; v++ {
							var err error
							if fifth(v) {
								err = errBad
							}
							if !yield(v, err) {
								return
							}
							if v == 4 || v == 5 && lives < 3 {
								panic("once")
							}
						}
					}
				}), stages.OnError(stages.DeadLetter(a, 100)))
			}), supervisor.Config{})
			if r.err != nil || a.stored != 6 || r.stats.Failed != 6 || lives < 2 || r.stats.Restarts != int64(lives-1) {
				t.Errorf("%v, %d letters, %d failed, %d lives, %d restarts", r.err, a.stored, r.stats.Failed, lives, r.stats.Restarts)
			}
			wantItems(t, r.out, withoutFifths(30))
		})
	}
}

// A sink that cannot be closed is an event, and nothing else.
func TestF06ASinkWhoseCloseFailsIsAnEvent(t *testing.T) {
	for name, closes := range map[string]func() error{
		"an error": func() error { return errFull },
		"a panic":  func() error { panic(errFull) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &archive{closes: closes}
				r := play(t, chained(20, a, a), supervisor.Config{})
				if r.err != nil || r.stats.Failed != 20 || a.stored != 20 || a.open != 0 {
					t.Errorf("%v, %d failed, %d letters, open %d times", r.err, r.stats.Failed, a.stored, a.open)
				}
				e := told[supervisor.CloseFailed](r.events)
				if len(e) != 1 || e[0].Stage != "0" || !strings.Contains(e[0].Err.Error(), errFull.Error()) {
					t.Errorf("told %+v", e)
				}
				if _, ok := r.events[len(r.events)-1].(supervisor.RunEnded); !ok {
					t.Errorf("the last event is %+v", r.events[len(r.events)-1])
				}
			})
		})
	}
}

// A node may be part of itself, which no codec can write down: its type alone does not say so.
type node struct{ Next *node }

// An item that cannot be written down after all ends the run: it is not dropped.
func TestF02AnItemThatCannotBeEncodedAfterAllEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &archive{}
		r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
			nodes := stages.Map(stages.Source(g, "ints", ints(100)), "nodes", func(_ context.Context, v int) (*node, error) {
				n := &node{}
				if v == 20 {
					n.Next = n
				}
				return n, nil
			})
			i := -1
			return stages.Map(nodes, "f", func(context.Context, *node) (int, error) {
				if i++; i%10 == 0 {
					return 0, errBad
				}
				return i, nil
			}, stages.OnError(stages.DeadLetter(a, 100)))
		}), supervisor.Config{})
		run, ok := errors.AsType[*supervisor.RunError](r.err)
		if !ok || len(run.Causes) != 1 || !errors.Is(r.err, errBad) || !strings.Contains(r.err.Error(), "item ints/0/20") || !strings.Contains(r.err.Error(), "cannot be") {
			t.Errorf("got %v", r.err)
		}
		if strings.Contains(r.err.Error(), "sink failed") {
			t.Errorf("the sink is blamed: %v", r.err)
		}
		if a.stored != 2 || r.stats.Failed != 2 || a.open != 0 {
			t.Errorf("%d letters, %d failed, open %d times", a.stored, r.stats.Failed, a.open)
		}
		wantItems(t, r.out, without(20, 0, 10))
	})
}

// A run that fails elsewhere, while sinks wait, has one cause: what they say of their context is none.
func TestF02ASinkThatIsToldToEndIsNoCause(t *testing.T) {
	const stage = 16
	for name, sync := range map[string]bool{"write": false, "sync": true} {
		for try := range 20 {
			t.Run(fmt.Sprint(name, try), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var sinks [stage]archive
					r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
						in := stages.Source(g, "ints", ints(100))
						for i := range sinks {
							sinks[i].endless(sync)
							in = stages.Map(in, fmt.Sprint(i), func(_ context.Context, v int) (int, error) {
								if v == i {
									return 0, errBad
								}
								return v, nil
							}, stages.OnError(stages.DeadLetter(&sinks[i], 100)), stages.Unordered, stages.Mailbox(2))
						}
						return stages.Map(in, "last", func(context.Context, int) (int, error) {
							time.Sleep(time.Second)
							return 0, errFull
						}, stages.OnError(stages.Skip(100)))
					}), supervisor.Config{MaxFailed: 1})
					run, ok := errors.AsType[*supervisor.RunError](r.err)
					if !ok || len(run.Causes) != 1 || !errors.Is(r.err, stages.ErrBudget) || errors.Is(r.err, context.Canceled) {
						t.Errorf("got %v", r.err)
					}
					for i := range sinks {
						if a := &sinks[i]; a.open != 0 || len(a.taken) > 1 {
							t.Errorf("sink %d is open %d times, and has %d letters", i, a.open, len(a.taken))
						}
					}
				})
			})
		}
	}
}

// endless lets a sink wait, in Write or in Sync, until it is told to end.
func (a *archive) endless(sync bool) {
	var told context.Context
	a.write = func(ctx context.Context, n int) error {
		if told = ctx; sync {
			return nil
		}
		<-ctx.Done()
		return fmt.Errorf("upload: %w", ctx.Err())
	}
	a.sync = func() error { <-told.Done(); return told.Err() }
}
