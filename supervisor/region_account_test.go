package supervisor_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// As many functions that hang as a stage has workers end the run, wherever they are.
func TestF08FunctionsThatAllHangInANodeFailTheRun(t *testing.T) {
	s := shape{Of: "maps", N: 1000, Fault: "deaf", Workers: 2, Timeout: 20 * time.Millisecond, Policy: "skip", Budget: 1000}
	for name, at := range map[string]supervisor.Placement{
		"keyed":  regionAt("first", "last", supervisor.Subprocess{}),
		"stream": supervisor.Subprocess{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := supervisor.Config{Grace: 300 * time.Millisecond, OnEvent: func(supervisor.Event) {}}
			run, err := supervisor.Deploy(t.Context(), children.With(cfg), shapes.With(s), at)
			if err != nil {
				t.Fatal(err)
			}
			n, err := drainItems(t, run)
			run.Stop()
			if !errors.Is(err, stages.ErrHung) || !strings.Contains(err.Error(), "2 functions do not return, and no more may hang") {
				t.Errorf("%d items, then %v", n, err)
			}
			if st := run.Stats().Stages[1]; st.Stage != "first" || st.Hung != 2 || st.Failed > 2 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// However a region ends, its node says what it has counted.
func TestTheLastCountsOfARegionAreTold(t *testing.T) {
	a := account{N: 5000, Percent: 60}
	for where, at := range accountsAt(t, a) {
		t.Run("a hook fails "+where, func(t *testing.T) {
			a := a
			a.Hook = "exit"
			run, err := supervisor.Deploy(t.Context(), children, accounts.With(a), at)
			if err != nil {
				t.Fatal(err)
			}
			n, err := drainItems(t, run)
			if run.Stop(); n != 250 || !errors.Is(err, errAccount) || !strings.Contains(err.Error(), `stage "keep": StageExit`) {
				t.Errorf("%d items, then %v", n, err)
			}
			if few, keep := stageStats(t, run, "few"), stageStats(t, run, "keep"); few.In != 5000 || few.Filtered != 4500 || keep.In != 500 || keep.Failed != 250 {
				t.Errorf("%+v\n%+v", few, keep)
			}
		})
		t.Run("it is stopped "+where, func(t *testing.T) {
			run, err := supervisor.Deploy(t.Context(), children, accounts.With(a), at)
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				if _, err := run.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := run.Stop(); err != nil {
				t.Error(err)
			}
			s := run.Stats()
			if few, keep := stageStats(t, run, "few"), stageStats(t, run, "keep"); few.In < 1990 || few.In < s.Delivered+s.Filtered+s.Failed || keep.In < 199 {
				t.Errorf("of %d, %d and %d:\n%+v\n%+v", s.Delivered, s.Filtered, s.Failed, few, keep)
			}
		})
	}
}

func stageStats[T any](t *testing.T, run *supervisor.Run[T], name string) supervisor.StageStats {
	t.Helper()
	for _, st := range run.Stats().Stages {
		if st.Stage == name {
			return st
		}
	}
	t.Fatalf("there is no stage %q", name)
	return supervisor.StageStats{}
}

// A node that somebody has started is told of as a child is, with its address.
func TestASessionOfANodeIsTold(t *testing.T) {
	addr := serveNode(t, supervisor.NodeConfig{Open: true}, accounts)
	at := regionAt("few", "keep", supervisor.Pool{Size: 2, Of: supervisor.Remote{Addr: addr}})
	begun := make(chan supervisor.NodeStarted, 2)
	sup := supervisor.New(supervisor.Config{OnEvent: func(e supervisor.Event) {
		if e, ok := e.(supervisor.NodeStarted); ok {
			begun <- e
		}
	}})
	run, err := supervisor.Deploy(t.Context(), sup, accounts.With(account{N: 100, Percent: 60}), at)
	if err != nil {
		t.Fatal(err)
	}
	told := []supervisor.NodeStarted{<-begun, <-begun} // the run may be over before the second one has answered, so first of all
	if n, err := drainItems(t, run); n != 5 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
	run.Stop()
	for _, e := range told {
		if "tcp://"+e.Addr != addr || e.PID != 0 || e.Incarnation != 1 || e.Region != "few..keep" {
			t.Errorf("%+v", e)
		}
	}
}
