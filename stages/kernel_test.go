package stages_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A rig is a stage's kernel without a worker: what stands behind one source of In.
type rig[In, Out any] struct {
	kernel  plan.Kernel
	stage   *plan.Stage
	ctx     context.Context // of the rig
	work    *plan.Work
	in      *plan.Of[In]
	out     *plan.Of[Out]
	tally   plan.Tally
	account plan.Account
}

// newRig takes a chunk of items, with the identities of a source, to the stage that build makes, in a graph with hooks.
func newRig[In, Out any](t testing.TB, items []In, build func(in stages.Stream[In]) stages.Stream[Out], hooks ...stages.Hook) *rig[In, Out] {
	t.Helper()
	p := stages.Define("rig", func(g *stages.Graph, _ int) stages.Stream[Out] {
		for _, h := range hooks {
			g.Hook(h)
		}
		return build(stages.Source(g, "in", stages.FromSlice(items)))
	}).With(0)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	r := &rig[In, Out]{stage: p.Plan().Stages[1], in: plan.NewPool[In]().Of(len(items)), out: plan.NewPool[Out]().Of(len(items))}
	r.in.Items = append(r.in.Items, items...)
	r.in.Head().IDs.Source(0, 0, 0, len(items))
	r.work = &plan.Work{Place: plan.Place{Graph: p.Plan(), Stage: r.stage}, Tally: &r.tally, In: r.in}
	r.ctx = plan.Bind(t.Context(), r.work)
	r.open(t)
	return r
}

func (r *rig[In, Out]) open(t testing.TB) {
	t.Helper()
	var err error
	if r.kernel, err = r.stage.Open(r.ctx); err != nil {
		t.Fatal(err)
	}
}

// deliver has the kernel work on items [from, to). What it has made is in out until the next delivery.
func (r *rig[In, Out]) deliver(from, to int) {
	w := r.work
	w.Next, w.First, w.To, w.Err, w.Dropped, w.Gone = from, from, to, nil, 0, w.Gone[:0]
	r.out.Items = r.out.Items[:0]
	r.out.Head().IDs.Reset()
	w.Out = r.out
	r.kernel.Run(r.ctx, w)
}

// survive is deliver for functions that may panic or end their goroutine: the kernel is rescued then, and replaced.
func (r *rig[In, Out]) survive(t testing.TB, from, to int) (died bool) {
	t.Helper()
	died = true
	done := make(chan bool)
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		r.deliver(from, to)
		died = false
	}()
	<-done
	if died {
		r.kernel.Rescue(r.work)
		r.open(t)
	}
	return died
}

// What becomes of item v, by its number alone: outputs, or an error, or a death.
func destiny(r *rand.Rand, n int) (outputs []int, fails, dies []bool) {
	outputs, fails, dies = make([]int, n), make([]bool, n), make([]bool, n)
	for v := range n {
		outputs[v] = r.IntN(5)
		fails[v] = r.IntN(20) == 0
		dies[v] = !fails[v] && r.IntN(30) == 0
	}
	return outputs, fails, dies
}

// A repeater is a OneToMany whose Process nobody calls.
type repeater func(v int) ([]string, error)

func (f repeater) Process(context.Context, int, func(string) bool) error { panic("not called") }

func (f repeater) Func() func(context.Context, int) ([]string, error) {
	return func(_ context.Context, v int) ([]string, error) { return f(v) }
}

var errMine = errors.New("mine")

// Each kind of kernel gives what a loop over the items would, whatever fails, panics, ends its goroutine or is called
// back in between: outputs, identities, where it stands, and what has been filtered.
func TestKernelsGiveWhatALoopGives(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 10))
		const n = 200
		outputs, fails, dies := destiny(r, n)
		items := make([]int, n)
		for i := range items {
			items[i] = i
		}
		var work *plan.Work
		meet := func(v int) error {
			if dies[v] {
				if v%2 == 0 {
					runtime.Goexit()
				}
				panic("mine")
			}
			if fails[v] {
				return errMine
			}
			if v%7 == 0 {
				work.Yield.Store(true)
			}
			return nil
		}
		apply := func(_ context.Context, v int) (string, error) { return fmt.Sprint(v), meet(v) }
		type state struct{}
		kinds := map[string]struct {
			build func(in stages.Stream[int]) stages.Stream[string]
			made  func(v int) int
		}{
			"map": {func(in stages.Stream[int]) stages.Stream[string] {
				return stages.Map(in, "k", apply)
			}, func(int) int { return 1 }},
			"map with a timeout": {func(in stages.Stream[int]) stages.Stream[string] {
				return stages.Map(in, "k", apply, stages.Timeout(time.Hour))
			}, func(int) int { return 1 }},
			"map with state": {func(in stages.Stream[int]) stages.Stream[string] {
				return stages.MapWith(in, "k", func(context.Context) (state, error) { return state{}, nil },
					func(_ state, ctx context.Context, v int) (string, error) { return apply(ctx, v) })
			}, func(int) int { return 1 }},
			"flatmap": {func(in stages.Stream[int]) stages.Stream[string] {
				return stages.FlatMap(in, "k", func(_ context.Context, v int) iter.Seq2[string, error] {
					return func(yield func(string, error) bool) {
						for range outputs[v] {
							if !yield(fmt.Sprint(v), nil) {
								return
							}
						}
						if err := meet(v); err != nil {
							yield("", err)
						}
					}
				})
			}, func(v int) int { return outputs[v] }},
			"one to many": {func(in stages.Stream[int]) stages.Stream[string] {
				return stages.Attach(in, "k", stages.Kind[int, string]{Name: "k", Open: func(context.Context) (stages.Worker[int, string], error) {
					return repeater(func(v int) ([]string, error) {
						return slices.Repeat([]string{fmt.Sprint(v)}, outputs[v]), meet(v)
					}), nil
				}})
			}, func(v int) int { return outputs[v] }},
		}
		for name, kind := range kinds {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				k := newRig(t, items, kind.build)
				work = k.work
				var got, want []string
				var ids, wantIDs []plan.ID
				dropped, wantDropped := 0, 0
				for v := range n {
					if fails[v] || dies[v] {
						continue
					}
					made := kind.made(v)
					if made == 0 {
						wantDropped++
					}
					for i := range made {
						id := plan.ID{Index: int64(v)}
						if made > 1 {
							id.Path = fmt.Sprintf(".%d", i)
						}
						want, wantIDs = append(want, fmt.Sprint(v)), append(wantIDs, id)
					}
				}
				for at := 0; at < n; {
					to := min(at+1+r.IntN(40), n)
					k.work.Yield.Store(false)
					died := k.survive(t, at, to)
					next := k.work.Next
					if next < at || next > to || next == at && !died && k.work.Err == nil {
						t.Fatalf("at %d behind a delivery of %d to %d", next, at, to)
					}
					got = append(got, k.out.Items...)
					for i := range k.out.Len() {
						ids = append(ids, k.out.Head().IDs.At(i))
					}
					dropped += k.work.Dropped
					if at = next; died || k.work.Err != nil {
						if died != dies[at] || !died && (k.work.Err != errMine || !fails[at]) {
							t.Fatalf("at %d: died %t, %v", at, died, k.work.Err)
						}
						at++ // as a policy would
					}
				}
				if !slices.Equal(got, want) || !slices.Equal(ids, wantIDs) {
					t.Errorf("got  %v %v\nwant %v %v", got, ids, want, wantIDs)
				}
				k.account.Add(&k.tally)
				if _, filtered, _ := k.account.Settled(); dropped != wantDropped || filtered != int64(wantDropped) {
					t.Errorf("%d dropped and %d filtered, want %d", dropped, filtered, wantDropped)
				}
			})
		}
	}
}

func TestADeliveryThatIsCalledBackHasDoneAtLeastOneItem(t *testing.T) {
	k := newRig(t, []int{1, 2, 3}, func(in stages.Stream[int]) stages.Stream[int] { return stages.Map(in, "k", same) })
	k.work.Yield.Store(true)
	for at := range 3 {
		if k.deliver(at, 3); k.work.Next != at+1 || !slices.Equal(k.out.Items, []int{at + 1}) {
			t.Errorf("at %d: next %d, %v", at, k.work.Next, k.out.Items)
		}
	}
}

// A OneToMany is held to the limits of its stage as if it had emitted its outputs.
func TestAOneToManyIsLimited(t *testing.T) {
	for name, c := range map[string]struct {
		most  int
		out   []string
		fails bool
	}{
		"as many as allowed":          {3, []string{"a", "b", "c"}, false},
		"one more":                    {3, []string{"a", "b", "c", "d"}, true},
		"the default":                 {0, make([]string, 1025), true},
		"no limit":                    {-1, make([]string, 5000), false},
		"too many bytes":              {0, []string{string(make([]byte, 40<<20)), string(make([]byte, 40<<20))}, true},
		"a single one of many bytes":  {0, []string{string(make([]byte, 80<<20))}, false},
		"many bytes, without a limit": {-1, []string{string(make([]byte, 40<<20)), string(make([]byte, 40<<20))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := newRig(t, []int{1, 2}, func(in stages.Stream[int]) stages.Stream[string] {
				return stages.Attach(in, "k", stages.Kind[int, string]{Name: "k", MaxOutputs: c.most, Open: func(context.Context) (stages.Worker[int, string], error) {
					return repeater(func(v int) ([]string, error) {
						if v == 1 {
							return []string{"first"}, nil
						}
						return c.out, nil
					}), nil
				}})
			})
			k.deliver(0, 2)
			if failed := k.work.Err != nil; failed != c.fails || failed && (!errors.Is(k.work.Err, stages.ErrTooMany) || k.out.Len() != 1 || k.work.Next != 1) {
				t.Errorf("%v at %d, behind %d outputs", k.work.Err, k.work.Next, k.out.Len())
			}
		})
	}
}
