package supervisortest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A recorder is a testing.TB that remembers what was reported. A method it lacks panics, which a test then sees.
type recorder struct {
	testing.TB
	ctx    context.Context // of the test that it stands for
	ends   time.Time       // zero: there is no deadline
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Deadline() (time.Time, bool) { return r.ends, !r.ends.IsZero() }

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// pipeline is n numbers through f.
func pipeline(n int, f func(context.Context, int) (int, error), opts ...stages.Option) stages.Pipeline[int] {
	return stages.Define("numbers", func(g *stages.Graph, n int) stages.Stream[int] {
		return stages.Map(stages.Source(g, "count", stages.FromSeq(func(context.Context) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for i := 0; i < n && yield(i, nil); i++ {
				}
			}
		})), "f", f, opts...)
	}).With(n)
}

func double(_ context.Context, v int) (int, error) { return 2 * v, nil }

// Runs of one supervisor at the same time are told apart, and none of them leaves anything.
func TestCollectRunsInParallel(t *testing.T) {
	sup := supervisor.New(supervisor.Config{})
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for range 20 {
				if got, err := Collect(t, sup, pipeline(100*i, double, stages.Mailbox(4)), nil); err != nil || len(got) != 100*i {
					t.Errorf("%d items, %v", len(got), err)
				}
			}
		})
	}
}

// What another run of the same pipeline still needs is not taken for what this one has left.
func TestCollectKnowsItsOwnRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sup := supervisor.New(supervisor.Config{})
		other, err := supervisor.Deploy(t.Context(), sup, pipeline(100, double), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Stop()
		if _, err := Collect(t, sup, pipeline(100, double), nil); err != nil {
			t.Error(err)
		}
	})
}

func TestCollectRunsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		got, err := Collect(t, supervisor.New(supervisor.Config{}), pipeline(10, func(_ context.Context, v int) (int, error) {
			time.Sleep(time.Hour)
			return v, nil
		}), nil)
		if err != nil || len(got) != 10 || time.Since(begun) < 10*time.Hour {
			t.Errorf("%d items in %v, %v", len(got), time.Since(begun), err)
		}
	})
}

func TestCollectReturnsTheErrors(t *testing.T) {
	bad := errors.New("bad")
	got, err := Collect(t, supervisor.New(supervisor.Config{}), pipeline(10, func(_ context.Context, v int) (int, error) {
		if v == 5 {
			return 0, bad
		}
		return v, nil
	}), nil)
	if !errors.Is(err, bad) || !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Collect(t, supervisor.New(supervisor.Config{}), stages.Pipeline[int]{}, nil); err == nil || got != nil {
		t.Errorf("the zero Pipeline: %v, %v", got, err)
	}
}

// stray is left behind by a stage's function.
func stray(release chan bool) { <-release }

func TestAGoroutineThatIsLeftIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(release chan bool, wg *sync.WaitGroup)
		want  string
	}{
		"one of the user":                 {func(release chan bool, _ *sync.WaitGroup) { go stray(release) }, "supervisortest.stray+"},
		"one of the user that ends later": {func(chan bool, *sync.WaitGroup) { go func() { <-time.After(time.Second) }() }, ""},
		"one of the standard library":     {func(_ chan bool, wg *sync.WaitGroup) { go wg.Wait() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{ctx: t.Context()}
				release, wg := make(chan bool), &sync.WaitGroup{}
				wg.Add(1)
				_, err := Collect(r, supervisor.New(supervisor.Config{}), pipeline(1, func(_ context.Context, v int) (int, error) {
					c.leave(release, wg)
					return v, nil
				}), nil)
				if err != nil {
					t.Error(err)
				}
				if c.want == "" && len(r.errors) > 0 || c.want != "" && (len(r.errors) != 1 || !strings.Contains(r.errors[0], c.want)) {
					t.Errorf("got %q, want %q", r.errors, c.want)
				}
				close(release)
				wg.Done()
			})
		})
	}
}

func TestAPipelineThatDoesNotEndIsReportedInTime(t *testing.T) {
	for name, c := range map[string]struct {
		whole, want time.Duration
	}{
		"a long test":  {10 * time.Minute, 10*time.Minute - 10*time.Second},
		"a short test": {10 * time.Second, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				r := &recorder{ctx: t.Context(), ends: begun.Add(c.whole)}
				release := make(chan bool)
				got, err := Collect(r, supervisor.New(supervisor.Config{}), pipeline(10, func(ctx context.Context, v int) (int, error) {
					if v == 3 {
						<-release // whatever the context says
					}
					return v, nil
				}), nil)
				if len(got) > 3 || err == nil || time.Since(begun) != c.want {
					t.Errorf("%v and %v after %v", got, err, time.Since(begun))
				}
				if len(r.errors) != 1 || !strings.Contains(r.errors[0], `pipeline "numbers" has not ended`) ||
					!strings.Contains(r.errors[0], fmt.Sprintf("delivered %d,", len(got))) || !strings.Contains(r.errors[0], "\n      f   ") {
					t.Errorf("got %s", r.errors)
				}
				close(release)
			})
		})
	}
}

// A run that the end of the test's context stops has ended as well as any other.
func TestTheEndOfTheTestsContextIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := &recorder{ctx: ctx}
		_, err := Collect(r, supervisor.New(supervisor.Config{}), pipeline(1, func(ctx context.Context, v int) (int, error) {
			<-ctx.Done()
			return v, ctx.Err()
		}), nil)
		if err != context.DeadlineExceeded || len(r.errors) > 0 {
			t.Errorf("%v, %q", err, r.errors)
		}
	})
}

func TestAFunctionThatDoesNotReturnIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := &recorder{ctx: ctx}
		release := make(chan bool)
		_, err := Collect(r, supervisor.New(supervisor.Config{}), pipeline(1, func(_ context.Context, v int) (int, error) {
			<-release
			return v, nil
		}), nil)
		if err != context.DeadlineExceeded || len(r.errors) != 1 || !strings.Contains(r.errors[0], `stop: stage "f": worker 0 does not return`) {
			t.Errorf("%v, %q", err, r.errors)
		}
		close(release)
	})
}

func TestAListenerThatDoesNotReturnIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{ctx: t.Context(), ends: time.Now().Add(time.Minute)}
		release := make(chan bool)
		_, err := Collect(r, supervisor.New(supervisor.Config{OnEvent: func(supervisor.Event) { <-release }}), pipeline(10, double), nil)
		if err != nil || len(r.errors) != 1 || !strings.Contains(r.errors[0], "Config.OnEvent") {
			t.Errorf("%v, %q", err, r.errors)
		}
		close(release)
	})
}

func TestCountsThatDoNotAddUpAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		stats supervisor.Stats
		err   error
		want  string
	}{
		"nothing":                 {supervisor.Stats{}, nil, ""},
		"all kinds":               {supervisor.Stats{Yielded: 10, Delivered: 5, Filtered: 3, Failed: 2}, nil, ""},
		"a failure interrupts":    {supervisor.Stats{Yielded: 10, Delivered: 5, Failed: 1, InFlight: 4}, context.Canceled, ""},
		"one is lost":             {supervisor.Stats{Yielded: 10, Delivered: 9}, nil, "do not add up"},
		"one is lost, in failure": {supervisor.Stats{Yielded: 10, Delivered: 9}, context.Canceled, "do not add up"},
		"one came twice":          {supervisor.Stats{Yielded: 10, Delivered: 11}, nil, "do not add up"},
		"one is finished twice":   {supervisor.Stats{Yielded: 10, Delivered: 11, InFlight: -1}, nil, "do not add up"},
		"complete, but for one":   {supervisor.Stats{Yielded: 10, Delivered: 9, InFlight: 1}, nil, "is complete, with items in flight"},
	} {
		r := &recorder{}
		checkCounts(r, c.stats, c.err)
		if c.want == "" && len(r.errors) > 0 || c.want != "" && (len(r.errors) != 1 || !strings.Contains(r.errors[0], c.want)) {
			t.Errorf("%s: got %q, want %q", name, r.errors, c.want)
		}
	}
}
