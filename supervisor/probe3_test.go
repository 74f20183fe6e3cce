package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func each(n int) func(context.Context, int) iter.Seq2[int, error] {
	return func(_ context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range v % n {
				if !yield(v*10+i, nil) {
					return
				}
			}
		}
	}
}

var nasty = map[string]func(g *stages.Graph, src stages.Stream[int], k knobs) stages.Stream[int]{
	"nested orders": func(g *stages.Graph, src stages.Stream[int], k knobs) stages.Stream[int] {
		a := stages.Route(src, "A", 3, k.pick(3), k.o()...)
		b := stages.Fork(stages.Map(a[0], "m", k.f(), k.o()...), "B", 4, func(ctx context.Context, v int, to func(int)) error {
			for i := range 3 {
				if v>>i&1 != 0 {
					to(i)
				}
			}
			return nil
		}, k.o()...)
		stages.Sink(b[3], "s3", func(context.Context, int) error { return nil }, k.o()...)
		x, y := stages.Tee(b[0], "C")
		xx := stages.Unbatch(stages.Batch(x, "batch", 7), "unbatch")
		inner := stages.Merge("ci", stages.InputOrder{}, y, xx)
		bj := stages.Merge("bj", stages.InputOrder{}, b[2], inner, stages.FlatMap(b[1], "flat", each(4), stages.Buffer(0)))
		return stages.Merge("aj", stages.InputOrder{}, a[2], bj, stages.Filter(a[1], "none", func(context.Context, int) (bool, error) { return false, nil }, k.o()...))
	},
	"rejoin in order": func(g *stages.Graph, src stages.Stream[int], k knobs) stages.Stream[int] {
		a := stages.Route(src, "A", 2, k.pick(2), k.o()...)
		p := stages.RouteBatch(stages.Batch(a[0], "batch", 5), "B", 3, func(_ context.Context, b []int) ([]int, error) {
			to := make([]int, len(b))
			for i, v := range b {
				to[i] = v % 3
			}
			return to, nil
		}, k.o()...)
		q := stages.Map(p[1], "q", func(ctx context.Context, b []int) ([]int, error) {
			_, err := k.f()(ctx, b[0])
			return b, err
		}, k.o()...)
		w := stages.Rejoin("whole", p[0], q, p[2])
		return stages.Merge("aj", stages.InputOrder{}, stages.Unbatch(w, "un"), stages.Map(a[1], "m", k.f(), k.o()...))
	},
	"first end": func(g *stages.Graph, src stages.Stream[int], k knobs) stages.Stream[int] {
		other := stages.Map(stages.Source(g, "other", ints(50), k.src...), "m", k.f(), k.o()...)
		return stages.Merge("mix", stages.Weighted{Weights: []float64{1, 2}, Seed: k.seed, UntilFirstEnd: true}, src, other)
	},
	"mixture": func(g *stages.Graph, src stages.Stream[int], k knobs) stages.Stream[int] {
		other := stages.Map(stages.Source(g, "other", ints(5), stages.Forever), "m", k.f(), k.o()...)
		x, y := stages.Tee(other, "tee")
		stages.Sink(y, "sink", func(context.Context, int) error { return nil }, k.o()...)
		return stages.Merge("mix", stages.Weighted{Weights: []float64{1, 2}, Seed: k.seed, EpochItems: 7}, stages.Source(g, "more", ints(3), stages.Forever), x)
	},
	"many": func(g *stages.Graph, src stages.Stream[int], k knobs) stages.Stream[int] {
		b := stages.Route(src, "A", 70, k.pick(70), k.o()...)
		b[69] = stages.Map(b[69], "m", k.f(), k.o()...)
		return stages.Merge("j", stages.InputOrder{}, b...)
	},
	"many ways": func(g *stages.Graph, src stages.Stream[int], k knobs) stages.Stream[int] {
		b := stages.Fork(src, "A", 70, func(_ context.Context, v int, to func(int)) error {
			for i := range v % 71 {
				to((i + v) % 70)
			}
			return nil
		}, k.o()...)
		b[69] = stages.Map(b[69], "m", k.f(), k.o()...)
		return stages.Merge("j", stages.Arrival{}, b...)
	},
}

type knobs struct {
	r    *rand.Rand
	seed uint64
	src  []stages.SourceOption
	fail int // 0: nothing fails
	wide bool
}

func (k knobs) o() []stages.Option {
	if k.wide {
		return []stages.Option{stages.Mailbox(3), stages.Buffer(0), stages.OnError(stages.Skip(1000)), stages.Ordered}
	}
	return []stages.Option{stages.Mailbox(1), stages.Buffer(0), stages.OnError(stages.Skip(1000))}
}

func (k knobs) pick(n int) func(context.Context, int) (int, error) {
	seed := k.seed
	return func(_ context.Context, v int) (int, error) {
		if seed%3 == 0 {
			return n - 1 - v/100%n, nil // long stretches
		}
		return int((uint64(v)*2654435761+seed)>>7) % n, nil
	}
}

var errNasty = errors.New("nasty")

func (k knobs) f() func(context.Context, int) (int, error) {
	fail := k.fail
	return func(ctx context.Context, v int) (int, error) {
		if v%5 == 0 {
			time.Sleep(time.Millisecond)
		}
		switch {
		case fail == 1 && v%7 == 3:
			return 0, errNasty
		case fail == 2 && v%7 == 3 && stages.Attempt(ctx) < 3:
			panic("nasty")
		case fail == 3 && v == 63, fail == 3 && v == 4:
			return 0, stages.Fatal(errNasty)
		}
		return v, nil
	}
}

func TestProbeNasty(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("NASTY"))
	for seed := range uint64(n) {
		for name, build := range nasty {
			if only := os.Getenv("ONLY"); only != "" && only != name {
				continue
			}
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { nastyRun(t, name, seed, build) })
			})
		}
	}
}

func nastyRun(t *testing.T, name string, seed uint64, build func(*stages.Graph, stages.Stream[int], knobs) stages.Stream[int]) {
	r := rand.New(rand.NewPCG(seed, 1))
	k := knobs{r: r, seed: seed, fail: r.IntN(4), wide: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		k.src = append(k.src, stages.Epochs(1+r.IntN(4)))
	}
	if r.IntN(2) == 0 {
		k.src = append(k.src, stages.Buffer(0))
	}
	how := r.IntN(6)
	size := []int{1, 10, 300, 1000}[r.IntN(4)]
	if r.IntN(4) == 0 && name != "first end" && name != "mixture" && how != 0 {
		k.src = append(k.src, stages.Forever)
	}
	p := define(func(g *stages.Graph) stages.Stream[[]int] {
		var src stages.Stream[int]
		if name != "mixture" {
			src = stages.Source(g, "src", ints(size), k.src...)
		}
		return stages.Batch(build(g, src, k), "last", 3, stages.Buffer(0))
	})
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if name == "mixture" && how == 0 {
		how = 1
	}
	run := deploy(t, p, supervisor.Config{})
	after := time.Duration(r.IntN(30)) * time.Millisecond
	switch how {
	case 1:
		defer time.AfterFunc(after, run.Drain).Stop()
	case 2:
		defer time.AfterFunc(after, func() { _ = run.Stop() }).Stop()
	case 3:
		defer time.AfterFunc(after, cancel).Stop()
	}
	var last error
	if how == 5 || how == 1 && r.IntN(2) == 0 {
		turns := 0
		for _, items := range run.Epochs(ctx) {
			i := 0
			for _, err := range items {
				last = err
				if i++; i > r.IntN(5) {
					break
				}
			}
			if turns++; turns == 20 && how != 1 {
				last = supervisor.ErrStopped
				break
			}
		}
	} else {
		i := 0
		for _, err := range run.Items(ctx) {
			last = err
			if i++; how == 4 && i > 20 {
				last = supervisor.ErrStopped
				break
			}
			if r.IntN(20) == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	}
	s := run.Stats()
	if e, ok := errors.AsType[*supervisor.RunError](last); ok {
		for _, c := range e.Causes {
			if !errors.Is(c, errNasty) && !errors.Is(c, stages.ErrBudget) {
				t.Errorf("cause %v", c)
			}
		}
	}
	if last == nil && (s.InFlight != 0 || s.Yielded != s.Delivered+s.Filtered+s.Failed) {
		t.Errorf("how %d: %+v", how, s)
	}
	if how == 0 && k.fail != 3 && last != nil {
		t.Errorf("%v", last)
	}
}
