package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A function that ignores its context costs its item, and a worker, but not the run.
func TestAFunctionThatHangsFailsItsItem(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var hung atomic.Int32
				p := stages.Define("hangs", func(g *stages.Graph, _ struct{}) stages.Stream[int] {
					s := stages.Source(g, "numbers", stages.FromSlice([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))
					return stages.Map(s, "slow", func(ctx context.Context, v int) (int, error) {
						if v == 4 {
							hung.Add(1)
							<-release
							stages.ItemID(ctx)
						}
						return v, nil
					}, stages.Mailbox(workers), stages.Ordered, stages.Timeout(time.Second), stages.OnError(stages.Skip(1)))
				}).With(struct{}{})
				begun := time.Now()
				run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), p, nil)
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
				if fmt.Sprint(got) != "[0 1 2 3 5 6 7 8 9]" {
					t.Errorf("got %v", got)
				}
				if d := time.Since(begun); d != 6*time.Second {
					t.Errorf("it took %v, want the timeout and the grace", d)
				}
				s := run.Stats()
				if s.Failed != 1 || s.Stages[1].Hung != 1 || s.Restarts != 1 {
					t.Errorf("%+v", s)
				}
				var h *stages.HungError
				if !errors.As(s.Failures[0], &h) || h.Item.Index != 4 || h.Stack == "" {
					t.Errorf("%v", s.Failures)
				}
				if err := run.Stop(); !errors.Is(err, stages.ErrHung) {
					t.Errorf("Stop returned %v while a function hangs", err)
				}
				if err := run.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				close(release)
				synctest.Wait()
				if s := run.Stats(); s.Stages[1].Hung != 0 {
					t.Errorf("%d still hang", s.Stages[1].Hung)
				}
				if err := run.Stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// As many as the mailbox may be abandoned, not more.
func TestFunctionsThatHangEndTheRunWhenThereAreAsManyAsWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		p := stages.Define("hangs", func(g *stages.Graph, _ struct{}) stages.Stream[int] {
			s := stages.Source(g, "numbers", stages.FromSlice(make([]int, 100)))
			return stages.Map(s, "slow", func(ctx context.Context, v int) (int, error) {
				<-release
				return v, nil
			}, stages.Mailbox(3), stages.Timeout(time.Second), stages.OnError(stages.Skip(100)))
		}).With(struct{}{})
		var err error
		for _, e := range supervisor.Items(t.Context(), supervisor.New(supervisor.Config{}), p, nil) {
			err = e
		}
		if !errors.Is(err, stages.ErrHung) {
			t.Error(err)
		}
	})
}

type memory struct {
	mu      sync.Mutex
	letters []stages.Letter
	synced  int
	opened  int
	full    int // Write fails then; 0: never
	sync    error
}

func (m *memory) OpenLetters(context.Context) (stages.LetterWriter, error) {
	m.opened++
	return m, nil
}

func (m *memory) Write(_ context.Context, l stages.Letter) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full > 0 && len(m.letters) == m.full {
		return errors.New("disk full")
	}
	l.Payload = append([]byte(nil), l.Payload...)
	m.letters = append(m.letters, l)
	return nil
}

func (m *memory) Sync() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.synced = len(m.letters)
	return m.sync
}

func (m *memory) Close() error { return nil }

func TestFailedItemsGoToTheSink(t *testing.T) {
	for _, workers := range []int{1, 4} {
		m := &memory{}
		p := stages.Define("letters", func(g *stages.Graph, _ struct{}) stages.Stream[int] {
			s := stages.Source(g, "numbers", stages.FromSlice([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))
			return stages.Map(s, "odd", func(ctx context.Context, v int) (int, error) {
				if v%2 == 1 {
					return 0, errors.New("odd")
				}
				return v, nil
			}, stages.Mailbox(workers), stages.Ordered, stages.OnError(stages.DeadLetter(m, 5)))
		}).With(struct{}{})
		var got []int
		for v, err := range supervisor.Items(t.Context(), supervisor.New(supervisor.Config{}), p, nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
		if fmt.Sprint(got) != "[0 2 4 6 8]" || len(m.letters) != 5 || m.synced != 5 {
			t.Errorf("%v %v", got, m.letters)
		}
	}
}
