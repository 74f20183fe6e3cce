package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// What happens is told in order, to the listener and to who asks: the end last.
func TestEventsTellWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(100), stages.Epochs(2)), "f", func(ctx context.Context, v int) (int, error) {
				if id := stages.ItemID(ctx); id.Epoch == 0 && v == 10 && stages.Attempt(ctx) == 1 {
					panic("once")
				}
				if v == 20 {
					return 0, errors.New("bad")
				}
				return v, nil
			}, stages.OnError(stages.Skip(2)))
		}), supervisor.Config{Job: "job", Rank: "3", OnEvent: func(e supervisor.Event) { heard = append(heard, tell(e)) }})
		for _, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := run.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var asked []string
		for e := range run.Events(t.Context()) {
			if i := e.Info(); i.Job != "job" || i.Rank != "3" || i.Run != run.ID() || i.Pipeline != "test" || i.Time.IsZero() {
				t.Errorf("%T: %+v", e, i)
			}
			asked = append(asked, tell(e))
		}
		want := []string{
			"started inprocess", "retried ints/0/10 after attempt 1: panic: once", "restarted f 0: panic: once", "failed ints/0/20: bad",
			"epoch 0", "failed ints/1/20: bad", "epoch 1", "ended 200 = 198 + 0 + 2, 1 restarts: <nil>",
		}
		// An epoch's end is told by the consumer, whose time is not the stages'.
		for _, w := range want {
			found := 0
			for _, got := range [][]string{heard, asked} {
				for _, g := range got {
					if at, _, _ := strings.Cut(g, " ("); at == w { // a panic says where it happened
						found++
					}
				}
			}
			if found != 2 {
				t.Errorf("%q was told %d times, want twice", w, found)
			}
		}
		if len(heard) != len(want) || fmt.Sprint(heard) != fmt.Sprint(asked) || heard[0] != want[0] || heard[len(heard)-1] != want[len(want)-1] {
			t.Errorf("heard %q\nasked %q", heard, asked)
		}
	})
}

func tell(e supervisor.Event) string {
	switch e := e.(type) {
	case supervisor.RunStarted:
		return "started " + e.Placement
	case supervisor.RunEnded:
		s := e.Stats
		return fmt.Sprintf("ended %d = %d + %d + %d, %d restarts: %v", s.Yielded, s.Delivered, s.Filtered, s.Failed, s.Restarts, e.Err)
	case supervisor.EpochEnded:
		return fmt.Sprint("epoch ", e.Epoch)
	case supervisor.WorkerRestarted:
		return fmt.Sprint("restarted ", e.Stage, " ", e.Worker, ": ", e.Err)
	case supervisor.ItemRetried:
		return fmt.Sprint("retried ", e.Item, " after attempt ", e.Attempt, ": ", e.Err)
	case supervisor.ItemFailed:
		return fmt.Sprint("failed ", e.Err.Item, ": ", e.Err.Err)
	}
	return fmt.Sprintf("%T", e)
}

// A listener that blocks, or panics, does not hold up the data.
func TestAListenerNeverHoldsUpTheData(t *testing.T) {
	for name, listen := range map[string]func(release chan bool){
		"blocks": func(release chan bool) { <-release },
		"panics": func(chan bool) { panic("listener") },
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan bool)
			defer close(release)
			run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
				return stages.Map(stages.Source(g, "ints", ints(5000)), "f", func(_ context.Context, v int) (int, error) {
					return 0, errors.New("bad")
				}, stages.OnError(stages.Skip(5000)))
			}), supervisor.Config{OnEvent: func(supervisor.Event) { listen(release) }})
			for _, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if s := run.Stats(); s.Failed != 5000 {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestTimeoutsEndTheContextOfOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := deploy(t, define(func(g *stages.Graph) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", ints(6)), "f", func(ctx context.Context, v int) (int, error) {
				if v%2 == 1 {
					<-ctx.Done()
					return 0, ctx.Err()
				}
				return v, nil
			}, stages.Timeout(3e9), stages.OnError(stages.Skip(3)))
		}), supervisor.Config{})
		n := 0
		for _, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		s := run.Stats()
		if n != 3 || s.Failed != 3 || s.Elapsed != 9e9 {
			t.Errorf("%d items, %+v", n, s)
		}
		for _, f := range s.Failures {
			if !errors.Is(f, context.DeadlineExceeded) {
				t.Error(f)
			}
		}
	})
}
