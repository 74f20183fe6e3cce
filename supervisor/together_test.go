package supervisor_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A fellow is a stage that shares the fate of another one. It runs in a bubble, and notes which incarnation of which worker
// is at work when.
type fellow struct {
	begun time.Time
	limit time.Duration // how long a state may be open behind a death of the other stage; 0: it is not known

	mu     sync.Mutex
	now    map[int]int     // guarded by mu: the incarnation of each worker that was last at work
	died   []time.Duration // guarded by mu: when the other stage has
	before []map[int]int   // guarded by mu: now, at each of these
	late   []string        // guarded by mu: calls of workers that should have been replaced
	open   int             // guarded by mu
	opened map[[2]int]int  // guarded by mu: by worker and incarnation
}

func newFellow() *fellow {
	return &fellow{begun: time.Now(), limit: fellowTakes, now: map[int]int{}, opened: map[[2]int]int{}}
}

// A stake is a worker's state.
type stake struct {
	of     *fellow
	at     stages.StageInfo
	since  time.Duration
	closed bool // guarded by of.mu
}

func (f *fellow) openStake(ctx context.Context) (*stake, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &stake{of: f, at: stages.Where(ctx), since: time.Since(f.begun)}
	f.opened[[2]int{s.at.Worker, s.at.Incarnation}]++
	f.open++
	return s, nil
}

func (s *stake) Close() error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.closed {
		panic("closed twice")
	}
	s.closed = true
	s.of.open--
	now := time.Since(s.of.begun)
	for i, died := range s.of.died {
		if d := now - died; died > s.since && s.of.limit > 0 && d > s.of.limit {
			s.of.late = append(s.of.late, fmt.Sprintf("what worker %d, incarnation %d has opened is closed %v after death %d", s.at.Worker, s.at.Incarnation, d, i+1))
			break
		}
	}
	return nil
}

// die notes that the other stage dies now.
func (f *fellow) die() {
	f.mu.Lock()
	f.died, f.before = append(f.died, time.Since(f.begun)), append(f.before, maps.Clone(f.now))
	f.mu.Unlock()
	panic("we all go")
}

// call notes a call of the fellow's function.
func (s *stake) call(ctx context.Context, v int) {
	f, at := s.of, stages.Where(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Since(f.begun)
	if at != s.at || s.closed {
		f.late = append(f.late, fmt.Sprintf("%v works with the state of %v, closed: %v", at, s.at, s.closed))
	}
	if at.Incarnation < f.now[at.Worker] {
		f.late = append(f.late, fmt.Sprintf("item %d: worker %d, incarnation %d behind %d", v, at.Worker, at.Incarnation, f.now[at.Worker]))
	}
	for i, died := range f.died {
		if now > died && at.Incarnation <= f.before[i][at.Worker] {
			f.late = append(f.late, fmt.Sprintf("item %d, %v after death %d: worker %d still has incarnation %d", v, now-died, i+1, at.Worker, at.Incarnation))
		}
	}
	f.now[at.Worker] = at.Incarnation
}

func (f *fellow) check(t *testing.T, deaths int) {
	t.Helper()
	if len(f.died) != deaths {
		t.Errorf("%d deaths, want %d", len(f.died), deaths)
	}
	for i, text := range f.late {
		if i < 5 {
			t.Error(text)
		}
	}
	for who, n := range f.opened {
		if n != 1 {
			t.Errorf("worker %d, incarnation %d was opened %d times", who[0], who[1], n)
		}
	}
	if f.open != 0 {
		t.Errorf("%d states are open", f.open)
	}
}

const fellowTakes = 10 * time.Millisecond // of a call of the fellow's function for 15 of a hundred items; the others are cheap

func (f *fellow) add(in stages.Stream[int], at func(ctx context.Context, v int) error, opts ...stages.Option) stages.Stream[int] {
	return stages.MapWith(in, "fellow", f.openStake, func(s *stake, ctx context.Context, v int) (int, error) {
		s.call(ctx, v)
		d := fellowTakes
		if v%100 < 85 {
			d = time.Microsecond // so that a worker is given many at once
		}
		if err := wait(ctx, d, false); err != nil {
			return 0, err
		}
		return v, at(ctx, v)
	}, append(opts, stages.Ordered)...)
}

func noHarm(context.Context, int) error { return nil }

// dying adds the stage with which the fellow shares its fate. It dies at every hundredth item.
func (f *fellow) dying(in stages.Stream[int]) stages.Stream[int] {
	return stages.Map(in, "dies", func(ctx context.Context, v int) (int, error) {
		wait(ctx, 700*time.Microsecond, false)
		if v%100 == 7 && stages.Attempt(ctx) == 1 {
			f.die()
		}
		return v, nil
	}, stages.Restart{Together: []string{"fellow"}})
}

// Whenever a worker of one stage is replaced, all workers of the other are, each when it is through with the item it is at;
// nothing is tried again there, and nothing lost.
func TestStagesAreReplacedTogether(t *testing.T) {
	const n = 1000
	for _, workers := range []int{1, 3} {
		for name, between := range map[string]func(stages.Stream[int]) stages.Stream[int]{
			"side by side": func(in stages.Stream[int]) stages.Stream[int] { return in },
			"with a batch between them": func(in stages.Stream[int]) stages.Stream[int] {
				return stages.Unbatch(stages.Batch(in, "pairs", 2), "flat")
			},
		} {
			t.Run(fmt.Sprint(name, workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFellow()
					r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
						return f.dying(between(f.add(stages.Source(g, "ints", ints(n)), noHarm, stages.Mailbox(workers))))
					}), supervisor.Config{})
					if r.err != nil || r.stats.Retries != n/100 {
						t.Fatalf("%v, %d retries", r.err, r.stats.Retries)
					}
					wantItems(t, r.out, numbers(n))
					f.check(t, n/100)
					checkTogether(t, r.events, n/100, workers)
				})
			})
		}
	}
}

// checkTogether wants each death to be told, and with it the replacement of each worker of the other stage.
func checkTogether(t *testing.T, events []supervisor.Event, deaths, workers int) {
	t.Helper()
	told := told[supervisor.WorkerRestarted](events)
	fellows := slices.DeleteFunc(slices.Clone(told), func(e supervisor.WorkerRestarted) bool { return e.Stage != "fellow" })
	if len(told)-len(fellows) != deaths || len(fellows) != deaths*workers {
		t.Errorf("%d and %d replacements are told, want %d and %d", len(told)-len(fellows), len(fellows), deaths, deaths*workers)
	}
}

// A source's fate may be shared as well.
func TestWorkersAreReplacedTogetherWithASource(t *testing.T) {
	const n = 1000
	for _, workers := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := newFellow()
			dead := map[int]bool{}
			r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
				src := stages.Source(g, "dies", stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
					return func(yield func(int, error) bool) {
						for v := int(from.Index); v < n; v++ {
							if v%100 == 90 && !dead[v] {
								dead[v] = true
								f.die()
							}
							if !yield(v, nil) {
								return
							}
						}
					}
				}), stages.Restart{Together: []string{"fellow"}}, stages.Buffer(2))
				return f.add(src, noHarm, stages.Mailbox(workers), stages.Buffer(2))
			}), supervisor.Config{})
			if r.err != nil || r.stats.Retries != 0 || r.stats.Stages[0].Restarts != n/100 {
				t.Fatalf("%v, %+v", r.err, r.stats)
			}
			wantItems(t, r.out, numbers(n))
			f.check(t, n/100)
		})
	}
}

// Workers that die themselves, and rest, while their stage is replaced together with another: each death and each
// replacement is one incarnation, and no item is tried more often than its own deaths say.
func TestStagesAreReplacedTogetherWhileTheirWorkersRest(t *testing.T) {
	const n = 600
	for _, workers := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := newFellow()
			r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
				in := f.add(stages.Source(g, "ints", ints(n)), func(ctx context.Context, v int) error {
					if most := []int{0, 3, 6}[v%3]; v%50 < 3 && stages.Attempt(ctx) <= most {
						panic("mine")
					}
					return nil
				}, stages.Mailbox(workers), stages.Retry{Attempts: 7, First: 50 * time.Millisecond})
				return f.dying(in)
			}), supervisor.Config{})
			deaths := int64(0)
			for v := range n {
				if v%50 < 3 {
					deaths += int64([]int{0, 3, 6}[v%3])
				}
			}
			if r.err != nil || r.stats.Retries != deaths+n/100 || r.stats.Stages[1].Retries != deaths {
				t.Fatalf("%v, %d retries, want %d: %+v", r.err, r.stats.Retries, deaths+n/100, r.stats.Stages)
			}
			wantItems(t, r.out, numbers(n))
			f.check(t, n/100)
		})
	}
}

// A worker that hangs cannot be replaced together with another stage: it is given up in time, and the others are replaced.
func TestStagesAreReplacedTogetherWhileOneHangs(t *testing.T) {
	const n = 1000
	for name, back := range map[string]time.Duration{"for ever": 0, "and comes back before it is given up": 2900 * time.Millisecond, "and comes back too late": 3500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFellow()
				f.limit = 0
				release := make(chan bool)
				hung := func(v int) bool { return v == 150 || v == 555 }
				run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
					in := f.add(stages.Source(g, "ints", ints(n)), func(ctx context.Context, v int) error {
						if hung(v) {
							var c <-chan time.Time
							if back > 0 {
								c = time.After(back - fellowTakes)
							}
							select {
							case <-c:
							case <-release:
							}
						}
						return nil
					}, stages.Mailbox(3), stages.Buffer(200), stages.Timeout(time.Second), stages.OnError(stages.Skip(2)))
					return f.dying(in)
				}), supervisor.Config{Grace: 2 * time.Second})
				var out []int
				for v, err := range run.Items(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, v)
				}
				close(release)
				run.Wait(t.Context())
				synctest.Wait()
				want := numbers(n)
				if back == 0 || back > 3*time.Second {
					want = without(n, 150, 555)
				}
				wantItems(t, out, want)
				if s := run.Stats(); s.Failed != int64(n-len(want)) || s.Stages[1].Hung != 0 {
					t.Errorf("%+v", s)
				}
				f.check(t, n/100)
			})
		})
	}
}
