package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/weirflow/weir/internal/history"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// What is decided about a schedule when all its stages are there: what goes wrong in its sources, stages that are replaced
// together, pauses, and a budget for the whole run that is a fraction.

// A origin is what goes wrong in the sources.
type origin struct {
	bad, dies uint64 // one item of so many fails, or costs the iterator, once; 0: none
	skip      int    // as work.skip
	letters   int    // as work.letters
	salt      uint64
}

func (o *origin) fails(it history.Item) bool { return o.bad > 0 && mixItem(o.salt, it)%o.bad == 0 }
func (o *origin) kills(it history.Item) bool { return o.dies > 0 && mixItem(o.salt+1, it)%o.dies == 0 }

func (s *schedule) enrich(r *rand.Rand) {
	s.origin = origin{salt: r.Uint64(), skip: 1 << 30}
	if r.IntN(4) == 0 {
		s.origin.bad = 3 + r.Uint64N(20)
		switch r.IntN(12) {
		case 0:
			s.origin.skip = -1
		case 1:
			s.origin.skip = r.IntN(4)
		}
		if s.origin.skip >= 0 && r.IntN(2) == 0 {
			if s.origin.letters = 1; r.IntN(8) == 0 {
				s.origin.letters = 2 + r.IntN(3)
			}
		}
	}
	if r.IntN(5) == 0 {
		s.origin.dies = 3 + r.Uint64N(20)
	}
	if r.IntN(20) == 0 {
		s.fraction = stages.Fraction(r.Float64() / 4)
	}
	var names []string
	s.each(func(w *work) { names = append(names, w.name) })
	s.each(func(w *work) {
		if w.attempts > 0 {
			w.first = []time.Duration{0, time.Millisecond, 30 * time.Millisecond, time.Second}[r.IntN(4)]
			w.retryIf = r.IntN(2) == 0
		}
		if r.IntN(4) == 0 {
			w.pause = []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Second}[r.IntN(3)]
		}
		if len(names) == 1 || r.IntN(5) > 0 {
			return
		}
		for _, i := range r.Perm(len(names))[:1+r.IntN(len(names)-1)] {
			if names[i] != w.name {
				w.together = append(w.together, names[i])
			}
		}
	})
	if r.IntN(5) == 0 && s.origin.dies > 0 {
		s.together = []string{names[r.IntN(len(names))]}
	}
}

// restart is the Restart of a stage; nil if nothing is said.
func restart(pause time.Duration, together []string) []stages.Restart {
	if pause == 0 && together == nil {
		return nil
	}
	return []stages.Restart{{First: pause, Together: together}}
}

func (p *trial) source(g *stages.Graph, i int) stages.Stream[load] {
	name := "source " + string(rune('0'+i))
	opts := []stages.SourceOption{stages.Epochs(p.epochs), p.policy(p.origin.skip, p.origin.letters, lap{stage: -1 - i})}
	if p.buffer >= 0 {
		opts = append(opts, stages.Buffer(p.buffer))
	}
	for _, r := range restart(0, p.together) {
		opts = append(opts, r)
	}
	dead := map[history.Item]bool{}
	return stages.Source(g, name, stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[load, error] {
		return func(yield func(load, error) bool) {
			for n := int(from.Index); n < p.lens[i]; n++ {
				it := history.Item{Source: i, Epoch: from.Epoch, Index: n}
				if p.origin.kills(it) && !dead[it] {
					dead[it] = true
					p.seen.see(sourceDied)
					panic("as the schedule says")
				}
				if p.origin.fails(it) {
					if !yield(nil, errBad) {
						return
					}
				} else if !p.record.Yield(it, func() bool { return yield(load{it}, nil) }) {
					return
				}
			}
		}
	}), opts...)
}

// sourceFailed is told of an item of a source that failed: none that the schedule lets live, and none twice.
func (p *trial) sourceFailed(e supervisor.ItemFailed) {
	p.seen.see(sourceFailed)
	p.mu.Lock()
	defer p.mu.Unlock()
	it := history.Item{Source: int(e.Err.Stage[len(e.Err.Stage)-1] - '0'), Epoch: e.Err.Item.Epoch, Index: int(e.Err.Item.Index)}
	k := lap{-1 - it.Source, e.Err.Item}
	letters := min(p.origin.letters, 1)
	if n := p.mail[k]; n != letters || e.Letter != (letters > 0) {
		p.odd = append(p.odd, fmt.Sprintf("%v failed, with %d letters that were written, want %d", it, n, letters))
	}
	if p.done[k] || !p.origin.fails(it) || e.Err.Err != errBad || e.Err.Attempts != 1 {
		p.odd = append(p.odd, fmt.Sprintf("source's item %v failed, again: %v: %v", it, p.done[k], e.Err))
	}
	p.done[k] = true
}

// isSource reports whether a stage is one.
func isSource(stage string) bool { return strings.HasPrefix(stage, "source ") }

// sourcesFailed is how many items failed in sources: of those the history knows nothing.
func sourcesFailed(s supervisor.Stats) (n int64) {
	for _, st := range s.Stages {
		if isSource(st.Stage) {
			n += st.Failed
		}
	}
	return n
}

// checkSources wants, of a complete run, that each item that had to fail in a source has.
func (p *trial) checkSources(s supervisor.Stats) {
	want := int64(0)
	for i, n := range p.lens {
		for e := range p.epochs {
			for k := range n {
				if p.origin.fails(history.Item{Source: i, Epoch: e, Index: k}) {
					want++
				}
			}
		}
	}
	if got := sourcesFailed(s); got > want || got < want && p.end == endsByItself {
		p.odd = append(p.odd, fmt.Sprintf("%d items of sources failed, want %d", got, want))
	}
}

// A reason is why a run has failed, as one of its causes says it.
type reason struct {
	what  string
	stage string
}

// reasonOf reads a cause. What it does not know is no reason.
func reasonOf(cause error) reason {
	text := cause.Error()
	item, isItem := errors.AsType[*stages.ItemError](cause)
	stage, _, _ := strings.Cut(strings.TrimPrefix(text, `stage "`), `"`)
	if r, ok := errors.AsType[*stages.RestartError](cause); ok {
		return reason{"deaths", r.Stage}
	}
	switch {
	case strings.Contains(text, "all stages together") && errors.Is(cause, stages.ErrBudget):
		return reason{"budget of the run", ""}
	case strings.Contains(text, "its dead-letter sink failed"):
		return reason{"sink", stage}
	case errors.Is(cause, stages.ErrBudget):
		return reason{"budget", stage}
	case strings.Contains(text, "no more may hang") && errors.Is(cause, stages.ErrHung):
		return reason{"all hang", stage}
	case isItem && cause == error(item):
		return reason{"item", item.Stage}
	}
	return reason{text, ""}
}

// unfounded returns what is wrong with an end for which the schedule gives no reason, or another one.
func (p *trial) unfounded(err error, end history.End, s supervisor.Stats) (wrong []history.Violation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	say := func(k history.Kind, format string, args ...any) {
		wrong = append(wrong, history.Violation{Kind: k, Text: fmt.Sprintf(format, args...)})
	}
	if p.lost > 0 {
		say(history.Lost, "%d events", p.lost)
	}
	for _, text := range p.odd {
		say(history.Miscounted, "%s", text)
	}
	failed := map[string]int64{}
	for _, st := range s.Stages {
		failed[st.Stage] = st.Failed
	}
	why := map[reason]bool{}  // that the run may have failed
	must := map[reason]bool{} // that a run which has not failed should have
	judge := func(r reason, may, does bool) {
		why[r], must[r] = may, does
	}
	stage := func(name string, skip, letters int) {
		over := skip >= 0 && failed[name] > int64(skip) || skip < 0 && failed[name] > 0
		judge(reason{"item", name}, over && skip <= 0, over && skip <= 0) // a budget of none is as Fail
		judge(reason{"budget", name}, over && skip > 0, over && skip > 0)
		judge(reason{"sink", name}, p.broken[name], p.broken[name])
	}
	for i := range p.lens {
		stage(fmt.Sprintf("source %d", i), p.origin.skip, p.origin.letters)
	}
	p.each(func(w *work) {
		stage(w.name, w.skip, w.letters)
		judge(reason{"deaths", w.name}, p.most[w.name] >= 10, false)
		judge(reason{"all hang", w.name}, p.hung[w.name] >= w.workers, false)
	})
	for i := range p.steps { // of the stages of the library's own that die
		name := string(rune('a' + i))
		judge(reason{"deaths", name + " batch"}, p.most[name] >= 10, false)
	}
	spent := p.failed > 0 && s.Failed > int64(p.failed)
	part := p.fraction > 0 && float64(s.Failed) > float64(p.fraction)*float64(s.Yielded)
	judge(reason{"budget of the run", ""}, spent || p.fraction > 0 && s.Failed > 0, spent || part)
	switch run, ok := errors.AsType[*supervisor.RunError](err); {
	case end == history.Stopped && p.end == endsByItself:
		say(history.Invented, "the run was stopped by nobody: %v", err)
	case end == history.Complete:
		for r, does := range must {
			if does {
				say(history.Invented, "the run has not failed, in spite of %v", r)
			}
		}
	case ok:
		p.checkCauses(run.Causes, why, say)
	}
	return wrong
}

// checkCauses wants causes that the schedule gives, and each only once; but behind an item that has failed an earlier one
// may.
func (p *trial) checkCauses(causes []error, why map[reason]bool, say func(history.Kind, string, ...any)) {
	last := map[reason]error{}
	for _, cause := range causes {
		r := reasonOf(cause)
		if !why[r] {
			say(history.Invented, "the run failed for no reason, %v: %v", r, cause)
		}
		before, again := last[r]
		last[r] = cause
		if !again {
			continue
		}
		one, ok1 := errors.AsType[*stages.ItemError](before)
		two, ok2 := errors.AsType[*stages.ItemError](cause)
		if !ok1 || !ok2 || !slices.Contains([]string{"item", "budget", "all hang"}, r.what) || one.Item == two.Item {
			say(history.Invented, "the run failed twice because of %v: %v", r, cause)
		}
	}
}

// isTogether reports whether an event is of a worker that is replaced for another stage's sake.
func isTogether(e supervisor.WorkerRestarted) bool {
	return e.Err != nil && strings.Contains(e.Err.Error(), "together with stage")
}
