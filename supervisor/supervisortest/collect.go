package supervisortest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// errDeadline is the cause of the end of a context that has ended because of the test's deadline.
var errDeadline = errors.New("supervisortest: the test's deadline")

// Collect is CollectStats for a test that does not look at the statistics.
func Collect[Out any](t testing.TB, s *supervisor.Supervisor, p stages.Pipeline[Out], at supervisor.Placement) ([]Out, error) {
	t.Helper()
	out, _, err := CollectStats(t, s, p, at)
	return out, err
}

// CollectStats deploys p, and returns all that comes out of it and the statistics of the run's life, with the error of Deploy or of
// the loop's last turn. Its context is t's. When the run has ended, it checks that no goroutine of it is left, those that user code has started
// included, and that the counts add up: yielded = delivered + filtered + failed + in flight, with nothing in flight if
// there was no error.
//
// A pipeline that has not ended shortly before the test's deadline fails the test, which is then told the statistics;
// inside testing/synctest there is no deadline, and a pipeline that hangs is a deadlock of the bubble. A goroutine that
// runs nothing but the standard library, such as a connection that net/http keeps for later, may be left. A test of
// which another one is left fails after about four seconds: goroutines are given time to end after they have said so.
func CollectStats[Out any](t testing.TB, s *supervisor.Supervisor, p stages.Pipeline[Out], at supervisor.Placement) ([]Out, supervisor.Stats, error) {
	t.Helper()
	ctx, cancel := within(t)
	defer cancel()
	run, err := supervisor.Deploy(ctx, s, p, at)
	if err != nil {
		return nil, supervisor.Stats{}, err
	}
	var out []Out
	for v, last := range run.Items(ctx) {
		if err = last; err == nil {
			out = append(out, v)
		}
	}
	if context.Cause(ctx) == errDeadline {
		t.Errorf("pipeline %q has not ended at the test's deadline:\n%s", p.Name(), table(run.Stats()))
		return out, run.Stats(), err
	}
	if hung := run.Stop(); hung != nil {
		t.Errorf("pipeline %q: stop: %v", p.Name(), hung)
		return out, run.Stats(), err
	}
	if ctx.Err() == nil {
		if run.Wait(ctx); ctx.Err() != nil {
			t.Errorf("pipeline %q has ended, but Config.OnEvent, which is told so, does not return", p.Name())
		}
	}
	stats := run.Stats()
	checkCounts(t, stats, err)
	checkGoroutines(t, run.ID())
	return out, stats, err
}

// within returns the context of t, which ends a little before the test's deadline: in time to say why.
func within(t testing.TB) (context.Context, context.CancelFunc) {
	at, ok := deadline(t)
	if !ok {
		return context.WithCancel(t.Context())
	}
	return context.WithDeadlineCause(t.Context(), at.Add(-min(time.Until(at)/10, 10*time.Second)), errDeadline)
}

// deadline is that of t, if it has one.
func deadline(t testing.TB) (at time.Time, ok bool) {
	defer func() {
		if recover() != nil { // in a bubble, where nobody may ask
			ok = false
		}
	}()
	if t, can := t.(interface{ Deadline() (time.Time, bool) }); can {
		return t.Deadline()
	}
	return at, false
}

func checkCounts(t testing.TB, s supervisor.Stats, err error) {
	t.Helper()
	switch {
	case s.Yielded != s.Delivered+s.Filtered+s.Failed+s.InFlight || s.InFlight < 0:
		t.Errorf("pipeline %q: the counts do not add up:\n%s", s.Pipeline, table(s))
	case err == nil && s.InFlight > 0:
		t.Errorf("pipeline %q is complete, with items in flight:\n%s", s.Pipeline, table(s))
	}
}

// table shows the counts, of all and of each stage.
func table(s supervisor.Stats) string {
	var b strings.Builder
	fmt.Fprintf(&b, "yielded %d, delivered %d, filtered %d, failed %d, in flight %d, outputs %d, after %v\n",
		s.Yielded, s.Delivered, s.Filtered, s.Failed, s.InFlight, s.Outputs, s.Elapsed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "stage\tin\tout\tfiltered\tfailed\tretries\trestarts\tbusy\t")
	for _, st := range s.Stages {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t\n", st.Stage, st.In, st.Out, st.Filtered, st.Failed, st.Retries, st.Restarts, st.Busy)
	}
	w.Flush() // an error of a Builder cannot be
	return b.String()
}
