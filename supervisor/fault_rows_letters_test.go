package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func TestF02ADeadLetterHasTheItemAndItsCause(t *testing.T) {
	const n = 60
	for name, k := range kinds() {
		for _, at := range spots(n) {
			for how, fail := range map[string]func(v int) error{
				"panic": func(v int) error { panic(fmt.Sprintf("poison %d", v)) },
				"error": func(v int) error { return fmt.Errorf("item %d: %w", v, errBad) },
			} {
				t.Run(fmt.Sprintf("%s, %s, item %d", name, how, at), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var a archive
						h := &harm{workers: 2, policy: stages.OnError(stages.DeadLetter(&a, 1)), open: func() {}, at: func(_ context.Context, v int) error {
							if v == at {
								return fail(v)
							}
							return nil
						}}
						r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
							return k.build(stages.Source(g, "ints", ints(n)), h)
						}), supervisor.Config{})
						if r.err != nil {
							t.Fatal(r.err)
						}
						if a.open != 0 || a.stored != 1 || len(a.taken) != 1 {
							t.Fatalf("%d letters, %d stored, open %d times", len(a.taken), a.stored, a.open)
						}
						checkLetter(t, a.taken[0], name, how, at)
						if r.stats.Failed != 1 || r.stats.Delivered != n-1 || sum64(r.stats.Stages, func(s supervisor.StageStats) int64 { return s.Letters }) != 1 {
							t.Errorf("got %+v", r.stats)
						}
						if e := told[supervisor.ItemFailed](r.events); len(e) != 1 || !e[0].Letter {
							t.Errorf("told %+v", e)
						}
						want := without(n, at)
						switch name {
						case "sink":
							want = numbers(n)
						case "aggregate by key":
							slices.Sort(r.out)
						}
						wantItems(t, withdrawn(t, r.out, name, at), repeated(want, k.times))
					})
				})
			}
		}
	}
}

func checkLetter(t *testing.T, l stages.Letter, name, how string, at int) {
	t.Helper()
	attempts, cause := 3, fmt.Sprintf("poison %d", at)
	if how == "error" {
		attempts, cause = 1, fmt.Sprintf("item %d: bad", at)
		if name == "batch by size" {
			cause = "size -1"
		}
	}
	if l.Pipeline != "test" || l.Stage != "f" || l.Item.Source != "ints" || l.Item.Index != int64(at) || l.Attempts != attempts || l.Time.IsZero() || !strings.Contains(fmt.Sprint(l.Errors), cause) {
		t.Errorf("got %+v, want item %d after %d attempts because of %q", l, at, attempts, cause)
	}
	var codec msgpack.Codec
	if l.Codec != codec.Name() {
		t.Errorf("it is encoded by %q", l.Codec)
	}
	var got any = new(int)
	var want any = &at
	if name == "route batch" {
		got, want = new([]int), &[]int{at}
	}
	if err := codec.Decode(l.Payload, got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("its payload is %v, %v, want %v", reflect.ValueOf(got).Elem(), err, reflect.ValueOf(want).Elem())
	}
}

// A failed item of a source, which has had no input, is a letter without payload.
func TestF02ADeadLetterOfASourceHasNoPayload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a archive
		r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "f", stages.FromSeq(faulty(9, func(i int) error {
				if i == 5 {
					return errBad
				}
				return nil
			})), stages.OnError(stages.DeadLetter(&a, 1)))
		}), supervisor.Config{})
		if r.err != nil || a.stored != 1 || a.open != 0 {
			t.Fatalf("%v, %+v", r.err, a)
		}
		if l := a.taken[0]; l.Item.Index != 5 || len(l.Payload) != 0 || l.Codec != "" || fmt.Sprint(l.Errors) != "[bad]" || l.Stage != "f" {
			t.Errorf("got %+v", l)
		}
		wantItems(t, r.out, without(9, 5))
	})
}

// The budget of dead letters is one as that of Skip: the item that is one too many is handed over as well, and ends the run.
func TestF03ABudgetOfDeadLettersIsSpentAtTheEleventhFailure(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a archive
				h := &harm{workers: 1, policy: stages.OnError(stages.DeadLetter(&a, 10)), open: func() {}, at: func(context.Context, int) error { return errBad }}
				r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
					return k.build(stages.Source(g, "ints", ints(1000)), h)
				}), supervisor.Config{})
				wantError(t, r.err, "f", 10, 1)
				// Items behind it may have failed as well while it was being stored: they count as in flight.
				if !errors.Is(r.err, stages.ErrBudget) || r.stats.Failed != 11 || a.stored < 11 || a.open != 0 || r.stats.Restarts != 0 {
					t.Errorf("%v, %d letters, %d restarts", r.err, a.stored, r.stats.Restarts)
				}
				for i, l := range a.taken {
					if l.Item.Index != int64(i) {
						t.Errorf("letter %d is of item %v", i, l.Item)
					}
				}
			})
		})
	}
}

// A sink of dead letters that is slow is waited for by a run that drains: what has failed is not lost. It is not waited for
// beyond the deadline.
func TestF34ADrainWaitsForDeadLetters(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes time.Duration
		want  error
	}{
		{"in time", 2 * time.Second, nil},
		{"too slow", time.Minute, supervisor.ErrDrainTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const at = 10500 * time.Millisecond
				a := archive{write: func(ctx context.Context, _ int) error { return wait(ctx, c.takes, false) }}
				var yielded atomic.Int64
				begun := time.Now()
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					return stages.Map(stages.Source(g, "ticks", ticks(&yielded, false)), "f", func(_ context.Context, v int) (int, error) {
						if v%2 == 1 {
							return 0, errBad
						}
						return v, nil
					}, stages.OnError(stages.DeadLetter(&a, 100)), stages.Buffer(20))
				}), supervisor.Config{})
				time.AfterFunc(at, run.Drain)
				var out []int
				var last error
				for v, err := range run.Items(t.Context()) {
					if last = err; err == nil {
						out = append(out, v)
					}
				}
				ended := time.Since(begun)
				if err := run.Stop(); err != nil {
					t.Error(err)
				}
				run.Wait(t.Context())
				s := run.Stats()
				checkEnd(t, s, run.Err())
				if last != c.want || run.Err() != c.want || a.open != 0 {
					t.Errorf("the last turn is %v, the run's error %v, want %v; the sink is open %d times", last, run.Err(), c.want, a.open)
				}
				if int64(a.stored) != s.Failed {
					t.Errorf("%d letters are stored, %d items have failed", a.stored, s.Failed)
				}
				if c.want == nil {
					if ended > at+time.Duration(yielded.Load())*c.takes || s.Delivered+s.Failed != yielded.Load() || s.Failed != yielded.Load()/2 {
						t.Errorf("ended after %v: %+v", ended, s)
					}
				} else if ended != at+30*time.Second {
					t.Errorf("ended after %v", ended)
				}
			})
		})
	}
}

// A sink that fails, or panics, in whatever it does, ends the run: nothing is dropped, and it is closed.
func TestF02ADeadLetterThatCannotBeStoredEndsTheRun(t *testing.T) {
	for name, a := range map[string]*archive{
		"the third write fails": {write: func(_ context.Context, n int) error { return map[bool]error{n == 2: errFull}[true] }},
		"the third write panics": {write: func(_ context.Context, n int) error {
			if n == 2 {
				panic(errFull)
			}
			return nil
		}},
		"no sync":        {sync: func() error { return errFull }},
		"a sync panics":  {sync: func() error { panic(errFull) }},
		"nothing at all": {write: func(context.Context, int) error { return errFull }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
					return stages.Map(stages.Source(g, "ints", ints(100)), "f", func(_ context.Context, v int) (int, error) {
						if v%10 == 9 {
							return 0, errBad
						}
						return v, nil
					}, stages.Mailbox(3), stages.Ordered, stages.OnError(stages.DeadLetter(a, 100)))
				}), supervisor.Config{})
				if r.err == nil || !strings.Contains(r.err.Error(), errFull.Error()) || !errors.Is(r.err, errBad) || a.open != 0 {
					t.Errorf("%v, open %d times", r.err, a.open)
				}
				if int64(a.stored) != r.stats.Failed {
					t.Errorf("%d are stored, %d have failed", a.stored, r.stats.Failed)
				}
				// What comes out is the beginning, without those that are stored.
				all := slices.DeleteFunc(numbers(100), func(v int) bool { return v%10 == 9 })
				wantItems(t, r.out, all[:len(r.out)])
				if len(r.out) > 9*(a.stored+1) {
					t.Errorf("%d items came out, though item %d has not been stored", len(r.out), 10*a.stored+9)
				}
			})
		})
	}
}
