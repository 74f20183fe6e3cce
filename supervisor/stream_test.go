package supervisor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
	"github.com/weirflow/weir/supervisor/supervisortest"
)

// A result is what a run of a case gives.
type result struct {
	out    []string
	err    error
	stats  supervisor.Stats
	failed []string // events
	kills  bool
}

func (c *streamCase) config() streamConfig { return streamConfig{c.name, max(cmp.Or(c.n, 1000), 0)} }

func runStream(t *testing.T, c *streamCase, at supervisor.Placement, cfg supervisor.Config) (r result) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var mu sync.Mutex
	cfg.OnEvent = func(e supervisor.Event) {
		if n, ok := e.(supervisor.NodeRestarted); ok && !r.kills {
			t.Error(n.Err)
		}
		if f, ok := e.(supervisor.ItemFailed); ok {
			mu.Lock()
			defer mu.Unlock()
			r.failed = append(r.failed, fmt.Sprintf("%v %v %d", f.Err.Stage, f.Err.Item, f.Err.Attempts))
		}
	}
	run, err := supervisor.Deploy(ctx, children.With(cfg), streams.With(c.config()), at)
	if err != nil {
		t.Fatal(err)
	}
	for v, err := range run.Items(ctx) {
		if r.err = err; err == nil {
			r.out = append(r.out, v)
		}
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	if err := run.Wait(ctx); err != r.err {
		t.Errorf("the run's error is %v, and that of the loop's last turn %v", err, r.err)
	}
	r.stats = run.Stats()
	checkEnd(t, r.stats, r.err)
	if left := childrenOf(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	return r
}

// text is an error without what differs between runs.
func text(err error) string {
	if err == nil {
		return ""
	}
	_, s, _ := strings.Cut(err.Error(), ":")
	s, _, _ = strings.Cut(s, "\n") // of a panic its stack follows
	// How many were finished by then depends on how far the other workers had come.
	return regexp.MustCompile(` of \d+ items failed`).ReplaceAllString(s, " items failed")
}

// What comes of a stream is the same wherever it is made: items, what they are called, errors, events and counts.
func TestAStreamIsTheSameEverywhere(t *testing.T) {
	for _, c := range streamCases() {
		t.Run(c.name, func(t *testing.T) {
			var want result
			for _, at := range supervisortest.Placements(t, children, streams.With(c.config())) {
				t.Run(kindOf(at), func(t *testing.T) {
					got := runStream(t, &c, at, supervisor.Config{})
					if been.at(kindOf(at)); want.out == nil && want.err == nil {
						want = got
					}
					c.compare(t, got, want)
				})
			}
		})
	}
}

func (c *streamCase) compare(t *testing.T, got, want result) {
	t.Helper()
	if g, w := text(got.err), text(want.err); g != w {
		t.Errorf("error\n%v, want\n%v", g, w)
	}
	if want.err != nil {
		for _, is := range []error{errBad, io.ErrUnexpectedEOF, stages.ErrBudget} {
			if errors.Is(got.err, is) != errors.Is(want.err, is) {
				t.Errorf("error %v: is %v: %v", got.err, is, errors.Is(got.err, is))
			}
		}
		g, ok := errors.AsType[*StreamError](got.err)
		w, is := errors.AsType[*StreamError](want.err)
		if ok != is || ok && *g != *w {
			t.Errorf("error %v: %v, want %v", got.err, g, w)
		}
		gi, ok := errors.AsType[*stages.ItemError](got.err)
		wi, is := errors.AsType[*stages.ItemError](want.err)
		if ok != is || ok && (gi.Stage != wi.Stage || gi.Item != wi.Item || gi.Attempts != wi.Attempts) {
			t.Errorf("error %v, want %v", gi, wi)
		}
	}
	c.compareItems(t, got.out, want.out, want.err)
	slices.Sort(got.failed)
	slices.Sort(want.failed)
	if !slices.Equal(got.failed, want.failed) {
		t.Errorf("failed:\n%v, want\n%v", got.failed, want.failed)
	}
	if want.err == nil && !c.loose && c.name != "weighted until the first ends" { // how far the others are is nobody's business
		c.compareStats(t, &got.stats, &want.stats)
	}
}

func (c *streamCase) compareItems(t *testing.T, got, want []string, failure error) {
	t.Helper()
	got, want = slices.Clone(got), slices.Clone(want)
	if c.loose {
		for _, all := range [][]string{got, want} {
			for i := range all {
				all[i], _, _ = strings.Cut(all[i], " ")
			}
		}
	}
	if c.any || c.loose {
		slices.Sort(got)
		slices.Sort(want)
	}
	if failure != nil && c.any {
		return
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("item %d of %d is\n%v, want\n%v of %d", i, len(got), got[i], want[i], len(want))
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d items, want %d", len(got), len(want))
	}
}

func (c *streamCase) compareStats(t *testing.T, got, want *supervisor.Stats) {
	t.Helper()
	a := fmt.Sprint(got.Yielded, got.Delivered, got.Filtered, got.Failed, got.InFlight, got.Outputs, got.Retries, len(got.Failures))
	b := fmt.Sprint(want.Yielded, want.Delivered, want.Filtered, want.Failed, want.InFlight, want.Outputs, want.Retries, len(want.Failures))
	if a != b {
		t.Errorf("yielded, delivered, filtered, failed, in flight, outputs, retries, failures: %v, want %v", a, b)
	}
	for i := range want.Stages {
		g, w := &got.Stages[i], &want.Stages[i]
		a := fmt.Sprint(g.Stage, g.Kind, g.In, g.Out, g.Filtered, g.Failed, g.Letters, g.Retries, g.Tolerated)
		b := fmt.Sprint(w.Stage, w.Kind, w.In, w.Out, w.Filtered, w.Failed, w.Letters, w.Retries, w.Tolerated)
		if a != b {
			t.Errorf("stage, kind, in, out, filtered, failed, letters, retries, tolerated: %v, want %v", a, b)
		}
	}
}
