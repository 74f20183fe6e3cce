package supervisor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/stagetest"
	"github.com/weirflow/weir/supervisor"
)

// Whatever fails, and however often, stagetest.Run says of it what a run does: which items are tried again and how often,
// which become letters, and what fails the run. The first stages tolerate everything; the last has one worker, so that it
// is not a matter of time what fails first.
func TestFailuresInStagetestAreThoseOfARun(t *testing.T) {
	var seen struct{ letters, attempts, budgets, restarts, fatal, well int } // how often it came to that
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 21))
		n := r.IntN(300)
		var chain []grief
		for range r.IntN(3) {
			chain = append(chain, randomTrouble(r))
		}
		last := lastTrouble(r)
		build := func(sink stages.LetterSink) func(stages.Stream[elem]) stages.Stream[elem] {
			return func(in stages.Stream[elem]) stages.Stream[elem] {
				for i, m := range chain {
					in = m.add(in, fmt.Sprint(i), sink)
				}
				return last.add(in, "last", sink)
			}
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Logf("%d items: %+v, %+v", n, chain, last)
			var want upshot
			var sink, unused archive
			synctest.Test(t, func(t *testing.T) {
				want = inRuntime(t, givenElems(n), build(&sink))
			})
			r := stagetest.Run(t, build(&unused), givenElems(n)...)
			run, _ := errors.AsType[*supervisor.RunError](want.err)
			switch {
			case (run == nil) != (r.Err == nil), run != nil && (len(run.Causes) != 1 || tellError(run.Causes[0]) != tellError(r.Err)):
				t.Fatalf("stagetest fails with %v, the run with %v", r.Err, want.err)
			case !slices.Equal(r.Out, want.out):
				t.Fatalf("stagetest gives %d items, a run %d: differ at %d", len(r.Out), len(want.out), differ(r.Out, want.out))
			}
			if unused.opened > 0 {
				t.Error("stagetest has opened a sink")
			}
			got := upshot{filtered: r.Filtered}
			for _, e := range r.Failed {
				got.failed = append(got.failed, e.Error())
				seen.attempts = max(seen.attempts, e.Attempts)
			}
			slices.Sort(got.failed)
			slices.Sort(want.failed)
			if want.err == nil && (got.filtered != want.filtered || !slices.Equal(got.failed, want.failed)) {
				t.Errorf("filtered: %d, in a run %d; failed: %q\nin a run: %q", got.filtered, want.filtered, got.failed, want.failed)
			}
			letters := tellLetters(sink.taken, "")
			if want.err == nil && !slices.Equal(tellLetters(r.Letters, ""), letters) {
				t.Errorf("letters: %q\nin a run: %q", tellLetters(r.Letters, ""), letters)
			}
			for _, l := range tellLetters(r.Letters, "last") { // what the others are at when this one fails depends on time
				if !slices.Contains(letters, l) {
					t.Errorf("a letter that there is not in a run: %q", l)
				}
			}
			seen.letters += len(r.Letters)
			count := func(n *int, is bool) {
				if is {
					*n++
				}
			}
			count(&seen.budgets, errors.Is(r.Err, stages.ErrBudget))
			count(&seen.restarts, errors.Is(r.Err, stages.ErrRestarts))
			count(&seen.fatal, errors.Is(r.Err, stages.ErrFatal))
			count(&seen.well, r.Err == nil && len(r.Out) > 0)
		})
	}
	if seen.letters < 500 || seen.attempts < 5 || seen.budgets < 10 || seen.restarts < 10 || seen.fatal < 5 || seen.well < 50 {
		t.Errorf("too little was seen: %+v", seen)
	}
	t.Logf("%+v", seen)
}

// tellError prints an error, but for how many items were finished: in a run a stage goes on while a letter is written.
func tellError(err error) string {
	return regexp.MustCompile(` of \d+ items failed`).ReplaceAllString(err.Error(), " failed")
}

// tellLetters prints those of a stage, or all, in order of their names, but for what need not be the same.
func tellLetters(all []stages.Letter, stage string) (told []string) {
	for _, l := range all {
		if strings.Contains(l.Stage, stage) {
			l.Pipeline, l.Time = "", time.Time{}
			told = append(told, fmt.Sprintf("%+v", l))
		}
	}
	slices.Sort(told)
	return told
}

// A grief is a stage in which items fail, by their values.
type grief struct {
	kind    string
	salt    int
	workers int
	retry   stages.Retry
	restart stages.Restart
	letters bool
	budget  int             // 0: whatever fails
	part    stages.Fraction // instead, and without letters: what is finished while one is written is a matter of time
	fatal   int             // the first value that is; 0: none
	dies    int             // from that value on all do, always; 0: none
}

func randomTrouble(r *rand.Rand) grief {
	return grief{
		kind: []string{"map", "filter", "flatmap", "pairs"}[r.IntN(4)], salt: r.IntN(1000), workers: 1 + r.IntN(3), letters: r.IntN(2) == 0,
		retry:   stages.Retry{Attempts: r.IntN(6), First: time.Duration(r.IntN(2)) * time.Second, If: []func(error) bool{nil, isBad}[r.IntN(2)]},
		restart: stages.Restart{Max: 50},
	}
}

func lastTrouble(r *rand.Rand) grief {
	m := randomTrouble(r)
	m.workers = 1
	switch r.IntN(6) {
	case 0:
		m.budget = 1 + r.IntN(10)
	case 1:
		m.part = stages.Fraction(0.05 + r.Float64()/5)
	case 2:
		m.fatal = 1 + r.IntN(300)
	case 3:
		m.dies = 1 + r.IntN(300)
	case 4:
		m.dies, m.restart = 1+r.IntN(300), stages.Restart{Max: 1 + r.IntN(9), Within: time.Hour}
	}
	return m
}

func isBad(err error) bool { return errors.Is(err, errBad) }

// suffer returns a function that fails so often for a value, in its way, and is well then.
func (m grief) suffer() func(v elem) error {
	var mu sync.Mutex
	failed := map[elem]int{}
	return func(v elem) error {
		mu.Lock()
		defer mu.Unlock()
		h := (v.Value*7919 + m.salt) % 97
		if m.dies > 0 && v.Value >= m.dies {
			panic("always")
		}
		if m.fatal > 0 && v.Value >= m.fatal {
			return stages.Fatal(errBad)
		}
		if failed[v]++; failed[v] > 1+h%5 {
			return nil
		}
		switch {
		case h < 5:
			panic("for some time")
		case h < 10:
			return fmt.Errorf("%d: %w", v.Value, errBad)
		case h < 15:
			return stages.Retryable(fmt.Errorf("%d: %w", v.Value, errors.Join(errBad, errors.New("in vain"))))
		}
		return nil
	}
}

func (m grief) add(in stages.Stream[elem], name string, sink stages.LetterSink) stages.Stream[elem] {
	suffer := m.suffer()
	policy := stages.Skip(1 << 30)
	switch {
	case m.part > 0:
		policy = stages.Skip(m.part)
	case m.letters:
		policy = stages.DeadLetter(sink, cmp.Or(m.budget, 1<<30))
	case m.budget > 0:
		policy = stages.Skip(m.budget)
	}
	opts := []stages.Option{stages.Mailbox(m.workers), stages.Ordered, stages.OnError(policy), m.retry, m.restart}
	switch m.kind {
	case "filter":
		return stages.Filter(in, name, func(_ context.Context, v elem) (bool, error) { return v.Value%3 != 0, suffer(v) }, opts...)
	case "flatmap":
		var flat []stages.FlatMapOption
		for _, o := range opts {
			flat = append(flat, o)
		}
		return stages.FlatMap(in, name, func(_ context.Context, v elem) iter.Seq2[elem, error] {
			return func(yield func(elem, error) bool) {
				_ = yield(elem{Value: 2 * v.Value}, nil) && yield(elem{Value: 2*v.Value + 1}, suffer(v))
			}
		}, flat...)
	case "pairs":
		return stages.AttachSerial(in, name, stages.SerialKind[elem, elem]{Name: "pairs", Holds: true,
			Open: func(context.Context) (stages.Worker[elem, elem], error) {
				return &pairs{suffer: func(_ context.Context, v elem) error { return suffer(v) }}, nil
			}}, stages.OnError(policy), m.restart)
	}
	return stages.Map(in, name, func(_ context.Context, v elem) (elem, error) { return v, suffer(v) }, opts...)
}
