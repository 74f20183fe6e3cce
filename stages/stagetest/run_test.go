package stagetest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/stagetest"
)

var errBad = errors.New("bad")

func double(_ context.Context, v int) (int, error) { return 2 * v, nil }

// odd fails for the even.
func odd(_ context.Context, v int) (int, error) {
	if v%2 == 0 {
		return 0, fmt.Errorf("%d: %w", v, errBad)
	}
	return v, nil
}

func upToN(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestAnItemIsFilteredOrFailedOrComesOut(t *testing.T) {
	got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[[]int] {
		good := stages.Map(in, "odd", odd, stages.Mailbox(4), stages.OnError(stages.Skip(2)))
		large := stages.Filter(good, "large", func(_ context.Context, v int) (bool, error) { return v > 2, nil })
		return stages.Batch(large, "batch", 2, stages.MaxWait(time.Second))
	}, 1, 2, 3, 4, 5, 7)
	if fmt.Sprint(got.Out) != "[[3 5] [7]]" || got.Filtered != 1 || got.Err != nil {
		t.Errorf("got %+v", got)
	}
	if len(got.Failed) != 2 || got.Failed[0].Item.String() != "given/0/1" || got.Failed[1].Stage != "odd" || !errors.Is(got.Failed[1], errBad) {
		t.Errorf("failed: %v", got.Failed)
	}
}

func TestNothingIsLegal(t *testing.T) {
	got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[[]int] { return stages.Batch(in, "batch", 2) })
	if len(got.Out) != 0 || got.Filtered != 0 || got.Err != nil {
		t.Errorf("got %+v", got)
	}
	if got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] { return in }, 1, 2); !slices.Equal(got.Out, []int{1, 2}) {
		t.Errorf("got %+v", got)
	}
}

// What fails a run, and what has come out before.
func TestTheRunFails(t *testing.T) {
	budget := func(p stages.Policy) func(in stages.Stream[int]) stages.Stream[int] {
		return func(in stages.Stream[int]) stages.Stream[int] {
			return stages.Unbatch(stages.Batch(stages.Map(in, "odd", odd, stages.OnError(p)), "batch", 2), "items")
		}
	}
	for name, c := range map[string]struct {
		build  func(in stages.Stream[int]) stages.Stream[int]
		want   error
		text   string
		out    []int
		failed int
	}{
		"no policy":                  {budget(stages.Fail()), errBad, `stage "odd": item given/0/2 failed: 6: bad`, []int{1, 3}, 1},
		"a budget":                   {budget(stages.Skip(1)), stages.ErrBudget, `2 of 5 items failed`, []int{1, 3}, 2},
		"a fraction, at the end":     {budget(stages.Skip(stages.Fraction(0.2))), stages.ErrBudget, `2 of 6 items failed`, []int{1, 3, 5, 7}, 2},
		"within the fraction":        {budget(stages.Skip(stages.Fraction(0.5))), nil, "", []int{1, 3, 5, 7}, 2},
		"what no policy may skip":    {failing(stages.Fatal(errBad)), stages.ErrFatal, `item given/0/0 failed: bad`, nil, 1},
		"too many outputs":           {flood(1025), stages.ErrTooMany, "too many outputs", nil, 1},
		"a flush":                    {badFlush, errBad, `stage "bad flush": flush: bad`, nil, 0},
		"a worker that cannot open":  {noOpen(errBad), stages.ErrRestarts, `stage "no open": a worker died again after 10 restarts that counted: open: bad`, nil, 0},
		"and never will":             {noOpen(stages.Fatal(errBad)), errBad, `stage "no open": open: bad`, nil, 0},
		"fewer outputs than before":  {shrinking, stages.ErrNotDeterministic, "fewer outputs", []int{1}, 1},
		"a function that chooses":    {pick(7), stages.ErrBranch, `input 7 was chosen`, nil, 0},
		"a function that dies":       {chooserDies, nil, `stage "merge": a worker died again after 10 restarts that counted: panic: again`, nil, 0},
		"a worker that always dies":  {dying(10, stages.Skip(1<<20)), stages.ErrRestarts, `stage "dying": a worker died again after 10 restarts that counted: panic: once more`, nil, 3},
		"one that dies now and then": {dying(2, stages.Fail()), nil, "", []int{1, 3, 6, 5, 8, 7}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := stagetest.Run(t, c.build, 1, 3, 6, 5, 8, 7)
			if c.text == "" && got.Err != nil || !strings.Contains(fmt.Sprint(got.Err), c.text) || c.want != nil && !errors.Is(got.Err, c.want) {
				t.Errorf("got the error %v, want %q, %v", got.Err, c.text, c.want)
			}
			if !slices.Equal(got.Out, c.out) || len(got.Failed) != c.failed {
				t.Errorf("got %v, want %v; failed: %v", got.Out, c.out, got.Failed)
			}
		})
	}
}

func failing(err error) func(stages.Stream[int]) stages.Stream[int] {
	return func(in stages.Stream[int]) stages.Stream[int] {
		return stages.Map(in, "failing", func(context.Context, int) (int, error) { return 0, err }, stages.OnError(stages.Skip(100)))
	}
}

func flood(n int) func(stages.Stream[int]) stages.Stream[int] {
	return func(in stages.Stream[int]) stages.Stream[int] {
		return stages.FlatMap(in, "flood", func(context.Context, int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for i := 0; i < n && yield(i, nil); i++ {
				}
			}
		})
	}
}

func badFlush(in stages.Stream[int]) stages.Stream[int] {
	return stages.AttachSerial(in, "bad flush", stages.SerialKind[int, int]{Name: "bad", Holds: true,
		Open: func(context.Context) (stages.Worker[int, int], error) { return &hoarder{flush: errBad}, nil }})
}

// A hoarder holds all that it is given.
type hoarder struct {
	held  []int
	flush error
}

func (h *hoarder) Process(_ context.Context, v int, _ func(int) bool) error {
	h.held = append(h.held, v)
	return nil
}

func (h *hoarder) Held() int { return len(h.held) }

func (h *hoarder) Flush(_ context.Context, emit func(int) bool) error {
	for _, v := range h.held {
		emit(v)
	}
	h.held = nil
	return h.flush
}

func noOpen(err error) func(stages.Stream[int]) stages.Stream[int] {
	return func(in stages.Stream[int]) stages.Stream[int] {
		return stages.MapWith(in, "no open", func(context.Context) (int, error) { return 0, err },
			func(_ int, _ context.Context, v int) (int, error) { return v, nil }, stages.OnError(stages.Skip(100)))
	}
}

func shrinking(in stages.Stream[int]) stages.Stream[int] {
	return stages.FlatMap(in, "shrinking", func(ctx context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			if stages.Attempt(ctx) == 1 {
				yield(v, nil)
				panic("once")
			}
		}
	}, stages.Streaming, stages.OnError(stages.Skip(100)))
}

func pick(i int) func(stages.Stream[int]) stages.Stream[int] {
	return func(in stages.Stream[int]) stages.Stream[int] {
		return stages.MergeFunc("merge", func([]*int) int { return i }, in)
	}
}

func chooserDies(in stages.Stream[int]) stages.Stream[int] {
	return stages.MergeFunc("merge", func([]*int) int { panic("again") }, in)
}

// dying dies at the first n attempts at each item.
func dying(n int, p stages.Policy) func(stages.Stream[int]) stages.Stream[int] {
	return func(in stages.Stream[int]) stages.Stream[int] {
		return stages.Map(in, "dying", func(ctx context.Context, v int) (int, error) {
			if stages.Attempt(ctx) <= n {
				panic("once more")
			}
			return v, nil
		}, stages.OnError(p))
	}
}

func TestAPanicCostsTheWorkerAndGoexitToo(t *testing.T) {
	for name, die := range map[string]func(){"panic": func() { panic("at 2") }, "runtime.Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			var log []string
			got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] {
				return stages.MapWith(in, "step", func(ctx context.Context) (*closer, error) {
					return &closer{&log, stages.Where(ctx).Incarnation}, nil
				}, func(c *closer, ctx context.Context, v int) (int, error) {
					log = append(log, fmt.Sprintf("%v in %d, attempt %d", stages.ItemID(ctx), c.life, stages.Attempt(ctx)))
					if v == 2 {
						die()
					}
					return v, nil
				}, stages.OnError(stages.Skip(1)))
			}, 1, 2, 3)
			want := []string{
				"given/0/0 in 1, attempt 1", "given/0/1 in 1, attempt 1", "close 1", "given/0/1 in 2, attempt 2", "close 2",
				"given/0/1 in 3, attempt 3", "close 3", "given/0/2 in 4, attempt 1", "close 4",
			}
			if !slices.Equal(log, want) {
				t.Errorf("got  %q\nwant %q", log, want)
			}
			var p *stages.PanicError
			if !slices.Equal(got.Out, []int{1, 3}) || got.Err != nil || len(got.Failed) != 1 || got.Failed[0].Attempts != 3 || !errors.As(got.Failed[0], &p) {
				t.Fatalf("got %+v", got)
			}
			if p.Item.Index != 1 || p.Stage != "step" || !strings.Contains(p.Stack, "run_test.go") {
				t.Errorf("got %+v", p)
			}
		})
	}
}

type closer struct {
	log  *[]string
	life int
}

func (c *closer) Close() error {
	*c.log = append(*c.log, fmt.Sprint("close ", c.life))
	return errors.New("told, and no more")
}

// What a worker held goes to the next one: between two items, and in a flush.
func TestWhatIsHeldIsGivenAgain(t *testing.T) {
	for name, c := range map[string]struct {
		opts  []stages.SerialOption
		out   string
		calls string
	}{
		"to the end":       {nil, "[1 2 3 4]", "1 2 3! 1(2) 2(2) 3(2) 4 f! 1(3) 2(3) 3(2) 4(2) f"},
		"to be dropped":    {[]stages.SerialOption{stages.DropLast}, "[]", "1 2 3! 1(2) 2(2) 3(2) 4 f! 1(3) 2(3) 3(2) 4(2) f"},
		"as far as it may": {[]stages.SerialOption{stages.MaxHeld(2)}, "[1 2 3 4]", "1 2 f! 1(2) 2(2) f 3! 3(2) 4 f"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []string
			died := map[string]bool{}
			call := func(what string) {
				if (what == "3" || what == "f") && !died[what] {
					died[what] = true
					calls = append(calls, what+"!")
					panic(what)
				}
				calls = append(calls, what)
			}
			got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] {
				return stages.AttachSerial(in, "hoard", stages.SerialKind[int, int]{Name: "hoard", Holds: true,
					Open: func(context.Context) (stages.Worker[int, int], error) { return &watched{call: call}, nil }}, c.opts...)
			}, 1, 2, 3, 4)
			filtered := 4 - len(got.Out)
			if fmt.Sprint(got.Out) != c.out || strings.Join(calls, " ") != c.calls || got.Err != nil || got.Filtered != filtered {
				t.Errorf("got %+v\ncalls %s\nwant  %s", got, strings.Join(calls, " "), c.calls)
			}
		})
	}
}

// A watched hoarder tells of each call before it is made: "3" is an item, "3(2)" the second attempt, "f" a flush.
type watched struct {
	hoarder
	call func(string)
}

func (w *watched) Process(ctx context.Context, v int, emit func(int) bool) error {
	what := fmt.Sprint(v)
	if n := stages.Attempt(ctx); n > 1 {
		what += fmt.Sprintf("(%d)", n)
	}
	w.call(what)
	return w.hoarder.Process(ctx, v, emit)
}

func (w *watched) Flush(ctx context.Context, emit func(int) bool) error {
	w.call("f")
	return w.hoarder.Flush(ctx, emit)
}

// Of one item, what comes by an earlier input comes first, whichever branch is walked first.
func TestInputOrderIsThatOfTheInputs(t *testing.T) {
	got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] {
		a, b := stages.Tee(in, "tee")
		twice := stages.Map(b, "double", double)
		return stages.Merge("merge", stages.InputOrder{}, twice, a)
	}, 1, 2, 3)
	if !slices.Equal(got.Out, []int{2, 1, 4, 2, 6, 3}) {
		t.Errorf("got %v", got.Out)
	}
}

func TestFaultsAreFatalAndNamedAtTheLineOfTheBuildFunction(t *testing.T) {
	r := &recorder{ctx: t.Context()}
	func() {
		defer func() { _ = recover() }()
		stagetest.Run(r, func(in stages.Stream[int]) stages.Stream[int] {
			return stages.Map(in, "a", double, stages.Mailbox(0))
		}, 1)
	}()
	if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], "the definition is refused: run_test.go:") || !strings.Contains(r.errors[0], "mailbox 0") {
		t.Errorf("got %q", r.errors)
	}
}
