package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// try deploys g, runs it to its end, and says what is wrong with what it gives. In a bubble, what hangs is found out at
// once: there the hour passes when nothing else can happen.
func try(t *testing.T, g *graph) (err error) {
	if !g.bubble {
		return build(g).run(t.Context(), 20*time.Second)
	}
	synctest.Test(t, func(t *testing.T) {
		err = build(g).run(t.Context(), time.Hour)
	})
	return err
}

// A harvest is what a run has given.
type harvest struct {
	epochs [][]parcel // of the consumer
	mixed  error
	stats  supervisor.Stats
}

// add takes an item, which must be of epoch e, or, if e is -1, not of an earlier one than the items before.
func (h *harvest) add(p parcel, e int) {
	if e < 0 {
		e = len(h.epochs) - 1
		if len(p) > 0 {
			e = max(e, p[0].Epoch)
		}
	}
	for len(h.epochs) <= e {
		h.epochs = append(h.epochs, nil)
	}
	for _, t := range p {
		if t.Epoch != e && h.mixed == nil {
			h.mixed = fmt.Errorf("item %v comes in epoch %d", p, e)
		}
	}
	if e >= 0 {
		h.epochs[e] = append(h.epochs[e], p)
	}
}

func (p *plant) run(ctx context.Context, within time.Duration, opts ...supervisor.DeployOption) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	run, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), p.pipeline, nil, opts...)
	if err != nil {
		return err
	}
	return p.reap(ctx, run)
}

// reap takes what comes of a run, and compares it with the reference.
func (p *plant) reap(ctx context.Context, run *supervisor.Run[parcel]) (err error) {
	defer run.Stop()
	var h harvest
	if p.graph.loops {
		err = h.byEpochs(ctx, run)
	} else {
		for v, e := range run.Items(ctx) {
			if err = e; err == nil {
				h.add(v, -1)
			}
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it hangs: %s", tellStages(run.Stats()))
	}
	if err != nil {
		return err
	}
	if err := run.Wait(ctx); err != nil {
		return fmt.Errorf("the run does not end: %w: %s", err, tellStages(run.Stats()))
	}
	if err := run.Stop(); err != nil {
		return err
	}
	h.stats = run.Stats()
	return p.check(&h)
}

func (h *harvest) byEpochs(ctx context.Context, run *supervisor.Run[parcel]) (last error) {
	next := 0
	for e, packs := range run.Epochs(ctx) {
		if e != next {
			h.mixed = fmt.Errorf("epoch %d follows, want %d", e, next)
		}
		next++
		for v, err := range packs {
			if last = err; err == nil {
				h.add(v, e)
			}
		}
	}
	return last
}

func tellStages(s supervisor.Stats) string {
	var b strings.Builder
	fmt.Fprintf(&b, "yielded %d, delivered %d, filtered %d, failed %d, in flight %d, outputs %d", s.Yielded, s.Delivered, s.Filtered, s.Failed, s.InFlight, s.Outputs)
	for _, st := range s.Stages {
		fmt.Fprintf(&b, "\n  %-20s in %d out %d filtered %d failed %d restarts %d", st.Stage, st.In, st.Out, st.Filtered, st.Failed, st.Restarts)
	}
	return b.String()
}

// check compares what a run has given with the reference.
func (p *plant) check(h *harvest) error {
	want := workOff(p.graph)
	errs := []error{h.mixed}
	for _, f := range p.faults {
		errs = append(errs, errors.New(f))
	}
	for e, f := range want.consumer {
		var got []parcel
		if e < len(h.epochs) {
			got = h.epochs[e]
		}
		errs = append(errs, compare(fmt.Sprintf("epoch %d", e), f, got))
	}
	for i, flows := range want.sinks {
		if !p.away {
			errs = append(errs, p.checkSink(i, flows))
		}
	}
	if p.graph.hooked > 0 && !p.away {
		errs = append(errs, p.hooks.check(want)...)
	}
	if err := p.checkStats(want, h.stats); err != nil {
		errs = append(errs, err, errors.New(tellStages(h.stats)))
	}
	return errors.Join(errs...)
}

// checkSink wants what a sink has got. With one worker it must have come epoch by epoch.
func (p *plant) checkSink(i int, want []flow) error {
	all := p.sinks[i].packs
	if p.graph.vertices[i].workers > 1 {
		var f flow
		for _, e := range want {
			f = append(f, e...)
		}
		return compare(p.graph.name(i), f, all)
	}
	var h harvest
	for _, v := range all {
		h.add(v, -1)
	}
	errs := []error{h.mixed}
	for e, f := range want {
		var got []parcel
		if e < len(h.epochs) {
			got = h.epochs[e]
		}
		errs = append(errs, compare(fmt.Sprintf("%s, epoch %d", p.graph.name(i), e), f, got))
	}
	return errors.Join(errs...)
}

// compare wants all of f and nothing else, with every ordered strand in its order.
func compare(where string, f flow, got []parcel) error {
	var wrong []string
	say := func(format string, args ...any) {
		if len(wrong) < 6 {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	left := map[uint64]int{}
	for _, p := range got {
		left[hash(0, p)]++
	}
	things := f.things()
	for _, th := range things {
		if k := hash(0, th.parcel); left[k] == 0 {
			say("missing: %v", th.parcel)
		} else {
			left[k]--
		}
	}
	for _, p := range got {
		if k := hash(0, p); left[k] > 0 {
			left[k]--
			say("too much: %v", p)
		}
	}
	for _, s := range f {
		if !s.ordered || wrong != nil {
			continue
		}
		k := 0
		for _, p := range got {
			if k < len(s.things) && hash(0, p) == hash(0, s.things[k].parcel) {
				k++
			}
		}
		if k < len(s.things) {
			say("out of order: item %d of %d, %v, does not follow what should be before it: got %v", k, len(s.things), s.things[k].parcel, got)
		}
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("%s: %d items, want %d: %s", where, len(got), len(things), strings.Join(wrong, "\n  "))
}

// checkStats wants that the counts add up, and are those of the reference.
func (p *plant) checkStats(want *outcome, s supervisor.Stats) error {
	var errs []error
	exact := func(what string, got, want int64) {
		if got != want {
			errs = append(errs, fmt.Errorf("%s: %d, want %d", what, got, want))
		}
	}
	early := slices.Contains(want.shortcut, true) // what is not yielded has no fate
	if s.Yielded > int64(len(want.fates)) || !early {
		exact("yielded", s.Yielded, int64(len(want.fates)))
	}
	exact("in flight", s.InFlight, 0)
	exact("delivered + filtered + failed", s.Delivered+s.Filtered+s.Failed, s.Yielded)
	if !want.vague {
		exact("delivered", s.Delivered, want.count(delivered))
	}
	if !want.vague && !early {
		exact("filtered", s.Filtered, want.count(filtered))
		exact("failed", s.Failed, want.count(failed))
	}
	outputs := 0
	for _, f := range want.consumer {
		outputs += len(f.things())
	}
	exact("outputs", s.Outputs, int64(outputs))
	byName := map[string]supervisor.StageStats{}
	for _, st := range s.Stages {
		byName[st.Stage] = st
	}
	for i := range p.graph.vertices {
		v := &p.graph.vertices[i]
		st := byName[p.graph.name(i)]
		if want.shortcut[i] {
			continue
		}
		exact(st.Stage+" failed", st.Failed, int64(want.failed[i]))
		if v.kind != "source" && !p.again {
			exact(st.Stage+" in", st.In, int64(want.in[i]))
		}
	}
	for _, f := range s.Failures {
		if !errors.Is(f, errBad) && !errors.Is(f, stages.ErrBranch) && !strings.Contains(f.Error(), "poison") && !strings.Contains(f.Error(), "of size -1") {
			errs = append(errs, fmt.Errorf("an item failed for no reason: %w", f))
		}
	}
	return errors.Join(errs...)
}
