package supervisor_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func TestAConfigurationThatMakesNoSenseIsRefused(t *testing.T) {
	for want, cfg := range map[string]supervisor.Config{
		"supervisor: Config.Grace is -1s, want at least 0":                                                         {Grace: -time.Second},
		"supervisor: Config.DrainWithin is -1ns, want at least 0":                                                  {DrainWithin: -1},
		"supervisor: Config.MaxFailed is -1, want at least 0":                                                      {MaxFailed: -1},
		"supervisor: Config.MaxFailedFraction is -0.1, want 0 to 1":                                                {MaxFailedFraction: -0.1},
		"supervisor: Config.MaxFailedFraction is 1.5, want 0 to 1":                                                 {MaxFailedFraction: 1.5},
		"supervisor: Config.MaxFailedFraction is NaN, want 0 to 1":                                                 {MaxFailedFraction: stages.Fraction(math.NaN())},
		"supervisor: Config.MaxFailedFraction is +Inf, want 0 to 1":                                                {MaxFailedFraction: stages.Fraction(math.Inf(1))},
		"supervisor: Config.Probation is -7, want at least 0":                                                      {Probation: -7},
		"supervisor: Config.MaxFailed is -2, want at least 0\nsupervisor: Config.Probation is -3, want at least 0": {MaxFailed: -2, Probation: -3},
	} {
		run, err := supervisor.Deploy(t.Context(), supervisor.New(cfg), luckPipeline(), nil)
		if run != nil || err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// All that is wrong is said at once.
func TestDeployJoinsItsErrors(t *testing.T) {
	bad := define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(1)), "m", same, stages.Mailbox(0), stages.Buffer(-1))
	})
	_, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{Grace: -1}), bad, nil)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"mailbox 0", "buffer -1", "Config.Grace"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if _, ok := errors.AsType[*stages.DefinitionError](err); !ok {
		t.Errorf("got %T", err)
	}
}

// stuck is a source that does not watch its context.
func stuck(release chan bool) func(context.Context) iter.Seq2[int, error] {
	return func(context.Context) iter.Seq2[int, error] {
		return func(func(int, error) bool) { <-release }
	}
}

// The zero Config waits 5 s in Stop, and 30 s in Drain.
func TestTheZeroConfigHasDefaults(t *testing.T) {
	for _, c := range []struct {
		cfg          supervisor.Config
		grace, drain time.Duration
	}{
		{supervisor.Config{}, 5 * time.Second, 30 * time.Second},
		{supervisor.Config{Grace: time.Second, DrainWithin: time.Minute}, time.Second, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan bool)
			run, err := supervisor.Deploy(t.Context(), supervisor.New(c.cfg), pipelineOf(stages.FromSeq(stuck(release))), nil)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			run.Drain()
			for _, err := range run.Items(t.Context()) {
				if !errors.Is(err, supervisor.ErrDrainTimeout) {
					t.Errorf("the loop ends with %v", err)
				}
			}
			if d := time.Since(began); d != c.drain {
				t.Errorf("Drain has taken %v, want %v", d, c.drain)
			}
			began = time.Now()
			err = run.Stop()
			if d := time.Since(began); d != c.grace || !errors.Is(err, stages.ErrHung) {
				t.Errorf("Stop has taken %v, want %v: %v", d, c.grace, err)
			}
			close(release)
			synctest.Wait()
		})
	}
}

func TestOneNameForTwoPipelinesIsAnErrorOfDeploy(t *testing.T) {
	build := func(g *stages.Graph, _ int) stages.Stream[int] { return stages.Source(g, "ints", ints(1)) }
	one, two := stages.Define("one", build), stages.Define("one", build)
	_, err := supervisor.Deploy(t.Context(), supervisor.Main(one, two), one.With(0), nil)
	if err == nil || !strings.Contains(err.Error(), `Main was given two pipelines called "one"`) {
		t.Errorf("got %v", err)
	}
	for _, err := range supervisor.Items(t.Context(), supervisor.Main(one, stages.Define("two", build)), one.With(0), nil) {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestARunErrorWrapsItsCauses(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	err := error(&supervisor.RunError{Pipeline: "p", Causes: []error{a, b}})
	if err.Error() != `pipeline "p": a (and 1 more)` || !errors.Is(err, a) || !errors.Is(err, b) {
		t.Errorf("got %v", err)
	}
	if err := (&supervisor.RunError{Pipeline: "p", Causes: []error{a}}); err.Error() != `pipeline "p": a` {
		t.Errorf("got %v", err)
	}
}
