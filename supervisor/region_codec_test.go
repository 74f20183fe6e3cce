package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// An awkward is a value of which the methods that encode it do all that they should not, if it is told to.
type awkward struct {
	V    int
	Does string
}

var errAwkward = errors.New("awkward")

func (a awkward) MarshalBinary() ([]byte, error) {
	if does, ok := strings.CutPrefix(a.Does, "encoding "); ok {
		return nil, a.act(does)
	}
	return fmt.Appendf(nil, "%d %s", a.V, a.Does), nil
}

func (a *awkward) UnmarshalBinary(b []byte) error {
	n, does, _ := strings.Cut(string(b), " ")
	a.Does = does
	fmt.Sscan(n, &a.V)
	if does, ok := strings.CutPrefix(a.Does, "decoding "); ok {
		return a.act(does)
	}
	return nil
}

func (a awkward) act(does string) error {
	switch does {
	case "panics":
		panic(errAwkward)
	case "ends":
		runtime.Goexit()
	}
	return errAwkward
}

type clumsy struct {
	N    int
	Does string // of items 7, 17, 27
	In   bool   // when they enter the region, and not when they leave it
}

var clumsies = stages.Define("clumsies", func(g *stages.Graph, c clumsy) stages.Stream[int] {
	told := func(v int, here bool) awkward {
		if v%10 == 7 && here {
			return awkward{v, c.Does}
		}
		return awkward{V: v}
	}
	skip := stages.OnError(stages.Skip(c.N))
	in := stages.Source(g, "ints", stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(from.Index); i < c.N && yield(i, nil); i++ {
			}
		}
	}))
	a := stages.Map(in, "before", func(_ context.Context, v int) (awkward, error) { return told(v, c.In), nil })
	b := stages.Map(a, "first", func(_ context.Context, v awkward) (int, error) { return v.V, nil }, skip)
	d := stages.Map(b, "last", func(_ context.Context, v int) (awkward, error) { return told(v, !c.In), nil }, skip)
	return stages.Map(d, "behind", func(_ context.Context, v awkward) (int, error) { return v.V, nil })
})

// A value that cannot be encoded or decoded fails its item: at the first stage of the region if it is on its way in, at the last one
// on its way out. The link stays up.
func TestF29ValuesThatCannotTravelFailTheirItems(t *testing.T) {
	for _, does := range []string{"encoding fails", "encoding panics", "encoding ends", "decoding fails", "decoding panics", "decoding ends"} {
		for _, in := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, on the way in %v", does, in), func(t *testing.T) {
				t.Parallel()
				cfg := supervisor.Config{OnEvent: func(e supervisor.Event) {
					if e, ok := e.(supervisor.NodeRestarted); ok {
						t.Errorf("the node is lost: %v", e.Err)
					}
				}}
				run, err := supervisor.Deploy(t.Context(), children.With(cfg), clumsies.With(clumsy{30, does, in}), regionAt("first", "last", supervisor.Subprocess{}))
				if err != nil {
					t.Fatal(err)
				}
				var got []int
				for v, err := range run.Items(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, v)
				}
				if err := run.Stop(); err != nil {
					t.Error(err)
				}
				run.Wait(t.Context())
				wantItems(t, got, without(30, 7, 17, 27))
				stage := "last"
				if in {
					stage = "first"
				}
				s := run.Stats()
				checkEnd(t, s, nil)
				var failed []int64
				for _, f := range s.Failures {
					failed = append(failed, f.Item.Index)
					if f.Stage != stage {
						t.Errorf("failed at %q: %v", f.Stage, f)
					}
				}
				if slices.Sort(failed); !slices.Equal(failed, []int64{7, 17, 27}) {
					t.Errorf("failed %v", failed)
				}
			})
		}
	}
}
