package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// faulty yields 0 .. n-1, with whatever at does in between.
func faulty(n int, at func(i int) error) func(context.Context) iter.Seq2[int, error] {
	return func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i, at(i)) {
					return
				}
			}
		}
	}
}

func TestAnIteratorThatPanicsIsOpenedWhereItWas(t *testing.T) {
	for name, from := range map[string]func(f func(int) error) stages.Origin[int]{
		"from the start": func(f func(int) error) stages.Origin[int] { return stages.FromSeq(faulty(5000, f)) },
		"from a position": func(f func(int) error) stages.Origin[int] {
			return stages.FromFunc(func(ctx context.Context, from stages.Position) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					for i := int(from.Index); i < 5000; i++ {
						if !yield(i, f(i)) {
							return
						}
					}
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			died := map[int]bool{}
			got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Source(g, "shaky", from(func(i int) error {
					if i%1000 == 999 && !died[i] {
						died[i] = true
						panic("once")
					}
					return nil
				}))
			}))
			if err != nil {
				t.Fatal(err)
			}
			checkCount(t, got, 5000)
			if s.Restarts != 5 || s.Yielded != 5000 {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestAnIteratorThatPanicsAlwaysFailsTheRunBehindItsItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		got, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "broken", stages.FromSeq(faulty(5000, func(i int) error {
				if i == 0 {
					opened++
				}
				if i == 3000 {
					panic("always")
				}
				return nil
			}))), "same", same)
		}))
		checkCount(t, got, 3000)
		e, ok := errors.AsType[*stages.RestartError](err)
		if !ok || e.Stage != "broken" || e.Restarts != 10 || opened != 11 {
			t.Errorf("opened %d times: %v", opened, err)
		}
		p, ok := errors.AsType[*stages.PanicError](err)
		if !ok || p.Stage != "broken" || p.Value != "always" || !strings.Contains(err.Error(), `stage "broken"`) {
			t.Errorf("got %v", err)
		}
		if s.Delivered != 3000 || s.Yielded != 3000 {
			t.Errorf("got %+v", s)
		}
	})
}

func TestAnErrorOfASourceIsAFailedItem(t *testing.T) {
	bad := errors.New("bad")
	run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Source(g, "in", stages.FromSeq(faulty(1000, func(i int) error {
			if i%10 == 3 {
				return fmt.Errorf("item %d: %w", i, bad)
			}
			return nil
		})), stages.OnError(stages.Skip(100)), stages.Epochs(1))
	}), supervisor.Config{})
	n := 0
	for v, err := range run.Items(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if v%10 == 3 {
			t.Fatalf("%d came out", v)
		}
		n++
	}
	s := run.Stats()
	if n != 900 || s.Yielded != 1000 || s.Delivered != 900 || s.Failed != 100 || s.InFlight != 0 {
		t.Errorf("%d items, %+v", n, s)
	}
	if f := s.Failures[99]; f.Item.Index != 993 || f.Item.Source != "in" || !errors.Is(f, bad) {
		t.Errorf("the last failure: %v", f)
	}
}

func TestAnErrorOfASourceFailsTheRunBehindItsItems(t *testing.T) {
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		err  error
		opts []stages.SourceOption
	}{
		"by default":        {bad, nil},
		"beyond the budget": {bad, []stages.SourceOption{stages.OnError(stages.Skip(0))}},
		"fatally":           {stages.Fatal(bad), []stages.SourceOption{stages.OnError(stages.Skip(100))}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "in", stages.FromSeq(faulty(10_000, func(i int) error {
					if i == 7000 {
						return c.err
					}
					return nil
				})), c.opts...), "same", same, stages.Mailbox(3), stages.Ordered)
			}))
			checkCount(t, got, 7000)
			if !errors.Is(err, bad) || !strings.Contains(err.Error(), `stage "in"`) {
				t.Error(err)
			}
		})
	}
}

func TestASourceOfNothingButFailuresEnds(t *testing.T) {
	_, s, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Source(g, "in", stages.FromSeq(faulty(10_000, func(int) error { return errors.New("bad") })), stages.OnError(stages.Skip(10_000)))
	}))
	if err != nil || s.Failed != 10_000 || s.Yielded != 10_000 {
		t.Errorf("%v, %+v", err, s)
	}
}

func TestAnEmptySourceCannotBeRepeatedForever(t *testing.T) {
	_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Source(g, "none", stages.FromSlice([]int{}), stages.Forever)
	}))
	if !errors.Is(err, stages.ErrEmptyEpoch) || !strings.Contains(err.Error(), `stage "none"`) {
		t.Error(err)
	}
}

func TestAChannelIsReadToItsEnd(t *testing.T) {
	c := make(chan int)
	go func() {
		defer close(c)
		for i := range 3000 {
			c <- i
		}
	}()
	got, _, err := collect(t, pipelineOf(stages.FromChan(c)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3000 {
		t.Errorf("%d items", len(got))
	}
}

func TestUnreadableFolderEndsTheRun(t *testing.T) {
	_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[string] {
		return stages.Source(g, "list", stages.FromFiles(t.TempDir()+"/none"))
	}))
	if err == nil || !strings.Contains(err.Error(), `stage "list"`) || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

// A source may fail before there is anything to do for the others: all stages are there by then.
func TestASourceMayFailAtOnce(t *testing.T) {
	sup := supervisor.New(supervisor.Config{})
	for range 100 {
		got, _, err := collectOn(t, sup, define(func(g *stages.Graph) stages.Stream[int] {
			a := stages.Source(g, "a", ints(3))
			b := stages.Source(g, "b", stages.FromSeq(func(context.Context) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) { yield(0, stages.Fatal(errUnlucky)) }
			}))
			return stages.Merge("both", stages.Arrival{}, a, b)
		}))
		if !errors.Is(err, errUnlucky) {
			t.Fatalf("got %v, %v", got, err)
		}
	}
}
