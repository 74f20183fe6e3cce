package supervisor_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// deployShape deploys a shape of which the region is at on.
func deployShape(t *testing.T, s shape, on supervisor.Placement, cfg supervisor.Config) *supervisor.Run[cell] {
	t.Helper()
	to := "last"
	if s.Of == "map" {
		to = "first"
	}
	if cfg.OnEvent == nil {
		cfg.OnEvent = func(supervisor.Event) {} // what children print is not for everybody
	}
	run, err := supervisor.Deploy(t.Context(), children.With(cfg), shapes.With(s), regionAt("first", to, on))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// drainItems takes all items of a run, and returns how many there were and the error of the last turn.
func drainItems[Out any](t *testing.T, run *supervisor.Run[Out]) (n int, last error) {
	t.Helper()
	for _, err := range run.Items(t.Context()) {
		if last = err; err == nil {
			n++
		}
	}
	return n, last
}

// A child that is none ends the run with an error that names the node and says why, after as many as may be tried; each is told as an
// event, within 5 s.
func TestF17AChildThatIsNoneIsNamed(t *testing.T) {
	for does, says := range map[string]string{
		"exits":          "exit status 7\nno such library",
		"prints garbage": "signal: killed",
		"is silent":      "does not answer",
	} {
		t.Run(does, func(t *testing.T) {
			t.Parallel()
			leaves := 2
			if does == "is silent" {
				leaves = 0
			}
			var mu sync.Mutex
			var restarts []supervisor.NodeRestarted
			cfg := supervisor.Config{
				Restart: stages.Restart{Max: leaves - 1 + min(leaves, 1), First: time.Millisecond, Pause: time.Millisecond},
				OnEvent: func(e supervisor.Event) {
					if e, ok := e.(supervisor.NodeRestarted); ok {
						mu.Lock()
						defer mu.Unlock()
						restarts = append(restarts, e)
					}
				},
			}
			begun := time.Now()
			run := deployShape(t, shape{Of: "maps", N: 100}, supervisor.Subprocess{Env: []string{"WEIR_TEST_CHILD=" + does}}, cfg)
			n, err := drainItems(t, run)
			if took := time.Since(begun); took > 7*time.Second {
				t.Errorf("it took %v", took)
			}
			node, ok := errors.AsType[*supervisor.NodeError](err)
			if !ok || n != 0 || !errors.Is(err, stages.ErrRestarts) || node.Region != "first..last" || !strings.Contains(err.Error(), says) {
				t.Errorf("%d items, then %v", n, err)
			}
			if err := run.Stop(); err != nil {
				t.Error(err)
			}
			run.Wait(t.Context())
			mu.Lock()
			defer mu.Unlock()
			if len(restarts) != leaves {
				t.Errorf("told of %d restarts, want %d: %v", len(restarts), leaves, restarts)
			}
		})
	}
}

// With the default limits a child that never answers ends the run after three of them, not after eleven.
func TestF17ThreeSilentChildrenEndTheRun(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	silent := supervisor.Subprocess{Env: []string{"WEIR_TEST_CHILD=is silent"}}
	run := deployShape(t, shape{Of: "maps", N: 100}, silent, supervisor.Config{})
	n, err := drainItems(t, run)
	node, ok := errors.AsType[*supervisor.NodeError](err)
	if !ok || n != 0 || node.Region != "first..last" || !strings.Contains(err.Error(), "3 children in a row, within 5 s each: link: the node does not answer") {
		t.Errorf("%d items, then %v", n, err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	if n := run.Stats().Nodes[0].Lives; n != 3 {
		t.Errorf("%d lives", n)
	}
}

// A pipeline that is built otherwise in the child is refused at once, for good, with what is different.
func TestF28AnotherGraphIsRefusedWithTheDifference(t *testing.T) {
	begun := time.Now()
	for _, on := range []supervisor.Placement{
		supervisor.Subprocess{Env: []string{"WEIR_TEST_BUILD=1"}},
		supervisor.Pool{Size: 2, Of: supervisor.Subprocess{Env: []string{"WEIR_TEST_BUILD=1"}}},
	} {
		run := deployShape(t, shape{Of: "maps", N: 100, Workers: 4, Order: true}, on, supervisor.Config{})
		n, err := drainItems(t, run)
		node, ok := errors.AsType[*supervisor.NodeError](err)
		if !ok || n != 0 || node.Region != "first..last" || !strings.Contains(err.Error(), `stage "first": mailbox 5 there, 4 here`) {
			t.Errorf("%d items, then %v", n, err)
		}
		if err := run.Stop(); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Processes that end by themselves while nothing is finished are too many at the eleventh.
func TestAStormOfDeathsEndsTheRun(t *testing.T) {
	run := deployShape(t, shape{Of: "maps", N: 1000, Fault: "exit", Every: 1}, supervisor.Subprocess{},
		supervisor.Config{MaxDeaths: 1000, Restart: stages.Restart{First: time.Millisecond, Pause: time.Millisecond}})
	n, err := drainItems(t, run)
	restart, ok := errors.AsType[*stages.RestartError](err)
	if n != 0 || !ok || restart.Restarts != 10 || !strings.Contains(err.Error(), "the last words") {
		t.Errorf("%d items, then %v", n, err)
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
}
