package supervisor_test

import (
	"cmp"
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

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// letter is one that stage of the pipeline "test" has left behind for its input v.
func letter(stage string, index int, v any) stages.Letter {
	payload, err := new(msgpack.Codec).Append(nil, v)
	if err != nil {
		panic(err)
	}
	return stages.Letter{
		Pipeline: "test", Stage: stage, Item: stages.ID{Source: "ints", Index: int64(index)},
		Attempts: 1, Time: time.Unix(0, 0), Errors: []string{"broken"}, Codec: "msgpack", Payload: payload,
	}
}

// lettersOf are letters of a stage for inputs.
func lettersOf[T any](stage string, vs ...T) (all []stages.Letter) {
	for i, v := range vs {
		all = append(all, letter(stage, i, v))
	}
	return all
}

// post is a sequence of letters that can be gone through again.
func post(letters ...[]stages.Letter) iter.Seq2[stages.Letter, error] {
	all := slices.Concat(letters...)
	return func(yield func(stages.Letter, error) bool) {
		for _, l := range all {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// replay runs letters through p in a bubble, where a run that hangs is seen, and checks the counts.
func replay[T any](t *testing.T, p stages.Pipeline[T], letters iter.Seq2[stages.Letter, error]) (out []T, s supervisor.Stats, failure error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		run, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), p, nil, supervisor.Replay(letters))
		if err != nil {
			failure = err
			return
		}
		for v, err := range run.Items(ctx) {
			if failure = err; err == nil {
				out = append(out, v)
			}
		}
		if err := run.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		s = run.Stats()
		if errors.Is(failure, context.DeadlineExceeded) {
			t.Errorf("it hangs: %s", tellStages(s))
		}
		if s.Yielded != s.Delivered+s.Filtered+s.Failed+s.InFlight || failure == nil && s.InFlight != 0 {
			t.Errorf("the counts do not add up: %+v", s)
		}
	})
	return out, s, failure
}

// replayed is replay of what must not fail. All letters must have become something.
func replayed[T any](t *testing.T, p stages.Pipeline[T], letters ...[]stages.Letter) []T {
	t.Helper()
	out, s, err := replay(t, p, post(letters...))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(slices.Concat(letters...)); s.Yielded != int64(n) {
		t.Errorf("%d items were yielded for %d letters", s.Yielded, n)
	}
	return out
}

func sorted[T cmp.Ordered](vs []T) []T {
	slices.Sort(vs)
	return vs
}

// closed is an origin that must not be opened.
func closed(t *testing.T) stages.Origin[int] {
	return stages.FromFunc(func(context.Context, stages.Position) iter.Seq2[int, error] {
		t.Error("a source was opened")
		return func(func(int, error) bool) {}
	})
}

func plus(n int) func(context.Context, int) (int, error) {
	return func(_ context.Context, v int) (int, error) { return v + n, nil }
}

func spell(_ context.Context, v int) (string, error) { return fmt.Sprint("<", v, ">"), nil }

// steps is a pipeline of several stages: what comes out says which of them an item has passed.
func steps(t *testing.T) stages.Pipeline[string] {
	return define(func(g *stages.Graph) stages.Stream[string] {
		a := stages.Map(stages.Source(g, "ints", closed(t), stages.Forever), "ten", plus(10), stages.Mailbox(2), stages.Ordered)
		b := stages.Map(a, "hundred", plus(100))
		return stages.Map(b, "spell", spell)
	})
}

func TestALetterGoesOnWhereItsItemFailed(t *testing.T) {
	for _, c := range []struct {
		name    string
		letters [][]stages.Letter
		want    []string
	}{
		{"in the first stage", [][]stages.Letter{lettersOf("ten", 1, 2, 3)}, []string{"<111>", "<112>", "<113>"}},
		{"in the middle", [][]stages.Letter{lettersOf("hundred", 1, 2, 3)}, []string{"<101>", "<102>", "<103>"}},
		{"in the last stage", [][]stages.Letter{lettersOf("spell", 3, 2, 1)}, []string{"<3>", "<2>", "<1>"}},
		{"twice with the same item", [][]stages.Letter{lettersOf("spell", 1), lettersOf("spell", 1)}, []string{"<1>", "<1>"}},
		{"upstream and downstream", [][]stages.Letter{lettersOf("spell", 1), lettersOf("ten", 1), lettersOf("hundred", 1)}, []string{"<101>", "<111>", "<1>"}},
		{"nowhere", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := replayed(t, steps(t), c.letters...)
			if len(c.letters) > 1 { // stages with letters of their own are in no order
				slices.Sort(got)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestAReplayedItemHasAnIdentityOfItsOwn(t *testing.T) {
	var mu sync.Mutex
	var ids []string
	replayed(t, define(func(g *stages.Graph) stages.Stream[int] {
		note := func(ctx context.Context, v int) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, fmt.Sprint(stages.ItemID(ctx), "=", v))
			return v, nil
		}
		a := stages.Map(stages.Source(g, "ints", closed(t)), "a", note)
		return stages.Map(stages.Map(a, "b", same), "a: letters", note)
	}), lettersOf("a", 7, 8), lettersOf("a: letters", 9))
	want := []string{"a: letters'/0/0=7", "a: letters'/0/0=7", "a: letters'/0/1=8", "a: letters'/0/1=8", "a: letters: letters/0/0=9"}
	if slices.Sort(ids); !slices.Equal(ids, want) {
		t.Errorf("got  %q\nwant %q", ids, want)
	}
}

func TestAPipelineThatWasReplayedStillRunsItsSources(t *testing.T) {
	p := define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(3)), "same", same)
	})
	for range 2 {
		if got := replayed(t, p, lettersOf("same", 7)); !slices.Equal(got, []int{7}) {
			t.Errorf("replayed: got %v", got)
		}
		got, _, err := collect(t, p)
		if err != nil {
			t.Fatal(err)
		}
		checkCount(t, got, 3)
	}
	if names := p.String(); strings.Contains(names, "letters") {
		t.Errorf("the pipeline has changed:\n%s", names)
	}
}

func TestEveryKindOfStageTakesLetters(t *testing.T) {
	source := func(g *stages.Graph) stages.Stream[int] { return stages.Source(g, "ints", closed(t)) }
	for _, c := range []struct {
		name    string
		build   func(g *stages.Graph) stages.Stream[string]
		letters []stages.Letter
		want    []string
	}{
		{"flat map", func(g *stages.Graph) stages.Stream[string] {
			return stages.FlatMap(source(g), "it", func(_ context.Context, v int) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					_ = yield(fmt.Sprint(v, "a"), nil) && yield(fmt.Sprint(v, "b"), nil)
				}
			}, stages.Streaming)
		}, lettersOf("it", 1, 2), []string{"1a", "1b", "2a", "2b"}},
		{"filter", func(g *stages.Graph) stages.Stream[string] {
			odd := stages.Filter(source(g), "it", func(_ context.Context, v int) (bool, error) { return v%2 == 1, nil })
			return stages.Map(odd, "spell", spell)
		}, lettersOf("it", 1, 2, 3), []string{"<1>", "<3>"}},
		{"batch", func(g *stages.Graph) stages.Stream[string] {
			return stages.Map(stages.Batch(source(g), "it", 2), "spell", verbatim[[]int])
		}, lettersOf("it", 1, 2, 3), []string{"[1 2]", "[3]"}},
		{"unbatch", func(g *stages.Graph) stages.Stream[string] {
			return stages.Map(stages.Unbatch(stages.Batch(source(g), "batch", 2), "it"), "spell", spell)
		}, lettersOf("it", []int{1, 2}, nil, []int{3}), []string{"<1>", "<2>", "<3>"}},
		{"aggregate by key", func(g *stages.Graph) stages.Stream[string] {
			odds := stages.AggregateByKey(source(g), "it", func(v int) int { return v % 2 }, func(context.Context, int) (*adder, error) {
				return new(adder), nil
			})
			return stages.Map(odds, "spell", spell)
		}, lettersOf("it", 1, 2, 3, 4, 5), []string{"<6>", "<9>"}},
		{"route", func(g *stages.Graph) stages.Stream[string] {
			both := stages.Route(source(g), "it", 2, func(_ context.Context, v int) (int, error) { return v % 2, nil })
			return stages.Map(stages.Merge("both", stages.InputOrder{}, both[0], stages.Map(both[1], "ten", plus(10))), "spell", spell)
		}, lettersOf("it", 1, 2, 3, 4), []string{"<11>", "<13>", "<2>", "<4>"}},
		{"route of batches", func(g *stages.Graph) stages.Stream[string] {
			return stages.Map(dealt(g, source(g)), "spell", verbatim[[]int])
		}, lettersOf("it", []int{1, 2, 3}, []int{4}), []string{"[1 2 3]", "[4]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sorted(replayed(t, define(c.build), c.letters)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func verbatim[T any](_ context.Context, v T) (string, error) { return fmt.Sprint(v), nil }

// A adder adds up what it is given, until the end.
type adder struct{ sum, n int }

func (s *adder) Process(_ context.Context, v int, _ func(int) bool) error {
	s.sum, s.n = s.sum+v, s.n+1
	return nil
}
func (s *adder) Held() int { return s.n }
func (s *adder) Flush(_ context.Context, emit func(int) bool) error {
	emit(s.sum)
	s.sum, s.n = 0, 0
	return nil
}

// dealt splits batches by "it", and makes them whole again.
func dealt(_ *stages.Graph, in stages.Stream[int]) stages.Stream[[]int] {
	parts := stages.RouteBatch(stages.Batch(in, "batch", 4), "it", 2, func(_ context.Context, batch []int) (to []int, _ error) {
		for _, v := range batch {
			to = append(to, v%2)
		}
		return to, nil
	})
	odd := stages.Map(parts[1], "odd", func(_ context.Context, part []int) ([]int, error) { return part, nil })
	return stages.Rejoin("whole", parts[0], odd)
}

func TestASinkTakesLetters(t *testing.T) {
	var mu sync.Mutex
	var sunk []int
	got, s, err := replay(t, define(func(g *stages.Graph) stages.Stream[int] {
		a, b := stages.Tee(stages.Source(g, "ints", closed(t)), "tee")
		stages.Sink(a, "sink", func(_ context.Context, v int) error {
			mu.Lock()
			defer mu.Unlock()
			sunk = append(sunk, v)
			return nil
		})
		return stages.Map(b, "ten", plus(10))
	}), post(lettersOf("sink", 1, 2), lettersOf("ten", 3), lettersOf("tee", 4)))
	slices.Sort(got)
	slices.Sort(sunk)
	if err != nil || !slices.Equal(got, []int{13, 14}) || !slices.Equal(sunk, []int{1, 2, 4}) || s.Delivered != 4 {
		t.Errorf("got %v, sunk %v, %v; %d delivered", got, sunk, err, s.Delivered)
	}
}

// An item that fails again is what it was before: its stage's policy decides.
func TestAnItemMayFailAgain(t *testing.T) {
	got, s, err := replay(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", closed(t)), "picky", func(_ context.Context, v int) (int, error) {
			if v%2 == 0 {
				return 0, errUnlucky
			}
			return v, nil
		}, stages.OnError(stages.Skip(2)))
	}), post(lettersOf("picky", 1, 2, 3, 4, 5)))
	if err != nil || !slices.Equal(got, []int{1, 3, 5}) || s.Failed != 2 {
		t.Errorf("got %v, %v; %d failed", got, err, s.Failed)
	}
}
