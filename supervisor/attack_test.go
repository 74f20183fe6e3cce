package supervisor_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// What an attack on the runtime found, so that it stays mended.

func TestGoexitInCloseEndsNothingElse(t *testing.T) {
	for name, dies := range map[string]bool{"at the end": false, "at a replacement": true} {
		t.Run(name, func(t *testing.T) {
			got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.MapWith(stages.Source(g, "ints", ints(10)), "f",
					func(context.Context) (closer, error) { return func() error { runtime.Goexit(); return nil }, nil },
					func(_ closer, ctx context.Context, v int) (int, error) {
						if dies && v == 5 && stages.Attempt(ctx) == 1 {
							panic("once")
						}
						return v, nil
					})
			}))
			if err != nil || s.InFlight != 0 {
				t.Errorf("%v, %+v", err, s)
			}
			checkCount(t, got, 10)
		})
	}
}

// brittle is an error whose methods panic when it is nil.
type brittle struct{ cause error }

func (e *brittle) Error() string { return e.cause.Error() }
func (e *brittle) Unwrap() error { return e.cause }

func TestErrorsWhoseMethodsPanicAreErrors(t *testing.T) {
	bad := func(v int) error {
		if v == 5 {
			return (*brittle)(nil)
		}
		return nil
	}
	skip := stages.OnError(stages.Skip(10))
	for name, p := range map[string]stages.Pipeline[int]{
		"of a stage": define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(10)), "f", func(_ context.Context, v int) (int, error) { return v, bad(v) }, skip)
		}),
		"of a source": define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "ints", stages.FromSeq(faulty(10, bad)), skip)
		}),
		"of a timeout": define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(10)), "f", func(_ context.Context, v int) (int, error) { return v, bad(v) }, skip, stages.Timeout(time.Hour))
		}),
	} {
		got, s, err := collect(t, p)
		if err != nil || len(got) != 9 || s.Failed != 1 || !strings.Contains(s.Failures[0].Error(), "*supervisor_test.brittle whose methods panic") {
			t.Errorf("%s: %v, %v, %+v", name, got, err, s)
		}
	}
}

func TestAFlushEmitsAsMuchAsWasHeld(t *testing.T) {
	for _, n := range []int{1024, 1025, 5000, 5001} {
		got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.AttachSerial(stages.Source(g, "ints", ints(n)), "reverse", stages.SerialKind[int, int]{
				Name: "reverse", Holds: true, MaxHeld: 5000,
				Open: func(context.Context) (stages.Worker[int, int], error) { return &reverser{}, nil },
			})
		}))
		if err != nil || len(got) != n || got[0] != min(n, 5000)-1 {
			t.Errorf("%d: %d items, %v", n, len(got), err)
		}
	}
}

type reverser struct {
	held []int
	lie  int
}

func (r *reverser) Process(_ context.Context, v int, _ func(int) bool) error {
	r.held = append(r.held, v)
	return nil
}

func (r *reverser) Held() int { return len(r.held) + r.lie }

func (r *reverser) Flush(_ context.Context, emit func(int) bool) error {
	for _, v := range slices.Backward(r.held) {
		emit(v)
	}
	r.held, r.lie = nil, 0
	return nil
}

func TestAWorkerThatIsWrongAboutWhatItHoldsFailsTheRun(t *testing.T) {
	for _, lie := range []int{-2, 1, 100, 1 << 40} {
		got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.AttachSerial(stages.Source(g, "ints", ints(100)), "lies", stages.SerialKind[int, int]{
				Name: "lies", Holds: true,
				Open: func(context.Context) (stages.Worker[int, int], error) { return &reverser{lie: lie}, nil },
			})
		}))
		if err == nil || !strings.Contains(err.Error(), "says that it holds") || len(got) != 0 || s.Yielded < s.Failed+s.Delivered+s.Filtered {
			t.Errorf("lie %d: %v, %v, %+v", lie, got, err, s)
		}
	}
}

func TestAFractionOfASourceIsJudgedAtTheEnd(t *testing.T) {
	_, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Source(g, "ints", stages.FromSeq(faulty(50, func(i int) error {
			if i > 2 {
				return errors.New("bad")
			}
			return nil
		})), stages.OnError(stages.Skip(stages.Fraction(0.01))))
	}))
	if !errors.Is(err, stages.ErrBudget) || s.Failed != 47 {
		t.Errorf("%v, %+v", err, s)
	}
}

// untidy yields for ever, and panics when it cleans up.
func untidy(context.Context, stages.Position) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		defer func() { panic("in the cleanup") }()
		for i := 0; yield(i, nil); i++ {
		}
	}
}

func TestAnIteratorWhoseCleanupPanicsIsNotOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "untidy", stages.FromFunc(untidy))
		}), supervisor.Config{})
		n := 0
		for range run.Items(t.Context()) {
			if n++; n == 100 {
				run.Drain()
			}
		}
		if s := run.Stats(); s.InFlight != 0 || s.Restarts > 1 {
			t.Errorf("drained: %+v", s)
		}

		run = deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Source(g, "untidy", stages.FromFunc(untidy), stages.Epochs(3))
		}), supervisor.Config{})
		epochs := 0
		for _, items := range run.Epochs(t.Context()) {
			epochs++
			for range items {
				break
			}
		}
		if s := run.Stats(); epochs != 3 || s.InFlight != 0 {
			t.Errorf("%d epochs left: %+v", epochs, s)
		}
	})
}

func TestAFailureMetWhileAnEpochIsThrownAwayIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("bad")
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(1000), stages.Epochs(3)), "f", func(_ context.Context, v int) (int, error) {
				if v == 3 {
					return 0, bad
				}
				return v, nil
			}, stages.Buffer(0))
		}), supervisor.Config{})
		var told []error
		for _, items := range run.Epochs(t.Context()) {
			for _, err := range items {
				if err != nil {
					told = append(told, err)
				}
				synctest.Wait() // it has failed by now
				break
			}
		}
		if len(told) != 1 || !errors.Is(told[0], bad) {
			t.Errorf("told %v; Err says %v", told, run.Err())
		}
	})
}

// A flush for MaxWait that is due while that of an epoch's end is under way has nothing to do.
func TestMaxWaitDoesNotMixEpochs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[[]elem] {
			return stages.AttachSerial(stages.Source(g, "elems", elems(20), stages.Epochs(20)), "slow", stages.SerialKind[elem, []elem]{
				Name: "slow", Holds: true,
				Open: func(context.Context) (stages.Worker[elem, []elem], error) { return &slowFlush{}, nil },
			}, stages.MaxWait(5*time.Millisecond))
		}), supervisor.Config{})
		next := 0
		for e, batches := range run.Epochs(t.Context()) {
			if e != next {
				t.Fatalf("turn %d is called epoch %d", next, e)
			}
			next++
			n := 0
			for b, err := range batches {
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range b {
					if n++; v.Epoch != e {
						t.Fatalf("an item of epoch %d in epoch %d", v.Epoch, e)
					}
				}
			}
			if n != 20 {
				t.Errorf("epoch %d has %d items", e, n)
			}
		}
	})
}

type slowFlush struct{ held []elem }

func (s *slowFlush) Process(_ context.Context, v elem, _ func([]elem) bool) error {
	s.held = append(s.held, v)
	return nil
}

func (s *slowFlush) Held() int { return len(s.held) }

func (s *slowFlush) Flush(_ context.Context, emit func([]elem) bool) error {
	time.Sleep(15 * time.Millisecond)
	emit(s.held)
	s.held = nil
	return nil
}

func TestNextLeavesNoGapWhenTheRunIsStopped(t *testing.T) {
	sup := supervisor.New(supervisor.Config{})
	for k := range 300 {
		reached := make(chan bool)
		run := deployOn(t, sup, define(func(g *stages.Graph) stages.Stream[int] { return stages.Source(g, "ints", ints(1<<40)) }))
		go func() {
			<-reached
			run.Stop()
		}()
		for want := 0; ; want++ {
			v, err := run.Next(t.Context())
			if err != nil {
				break
			}
			if v != want {
				t.Fatalf("Next gave %d, want %d", v, want)
			}
			if v == k*7 {
				close(reached)
			}
		}
	}
}

func TestARunThatIsBeingDeployedHasStatistics(t *testing.T) {
	sup := supervisor.New(supervisor.Config{})
	done := make(chan bool)
	go func() {
		defer close(done)
		for range 300 {
			for range supervisor.Items(context.Background(), sup, pipelineOf(ints(1)), nil) {
			}
		}
	}()
	for {
		for _, r := range sup.Runs() {
			r.Stats()
		}
		select {
		case <-done:
			return
		default:
			runtime.Gosched()
		}
	}
}
