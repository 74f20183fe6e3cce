package headspace_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/supervisor/headspace"
)

var errBroken = errors.New("broken")

// loader yields 0, 1, ... up to n, each after a pause, then err if there is one; left is set when its loop is over.
func loader(n int, pause func(i int) time.Duration, err error, left *bool) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		defer func() { *left = true }()
		for i := range n {
			if d := pause(i); d > 0 {
				time.Sleep(d)
			}
			if !yield(i, nil) {
				return
			}
		}
		if err != nil {
			yield(0, err)
		}
	}
}

func always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

func take(data iter.Seq2[int, error], most int) (got []int, err error) {
	for v, e := range data {
		if e != nil {
			return got, e
		}
		if got = append(got, v); len(got) == most {
			break
		}
	}
	return got, nil
}

func TestACacheRepeatsTheFirstItems(t *testing.T) {
	for name, c := range map[string]struct {
		items  int
		replay headspace.Replay
		want   []int
	}{
		"as many as kept":     {9, headspace.Replay{Keep: 2, Stop: 6}, []int{0, 1, 0, 1, 0, 1}},
		"later":               {9, headspace.Replay{Keep: 2, After: 5, Stop: 8}, []int{0, 1, 2, 3, 4, 0, 1, 0}},
		"stop at once":        {9, headspace.Replay{Keep: 2, After: 5, Stop: 5}, []int{0, 1, 2, 3, 4}},
		"data that is short":  {3, headspace.Replay{Keep: 5, Stop: 8}, []int{0, 1, 2, 0, 1, 2, 0, 1}},
		"short, but kept all": {3, headspace.Replay{Keep: 2, After: 5, Stop: 6}, []int{0, 1, 2, 0, 1, 0}},
		"one":                 {9, headspace.Replay{Keep: 1, Stop: 3}, []int{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var left bool
			got, err := take(headspace.Cache(loader(c.items, always(0), nil, &left), c.replay), -1)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
			if !left {
				t.Error("the data's loop is not over")
			}
		})
	}
}

func TestACacheThatNeedNotStopGoesOnAndDoesWithoutItsData(t *testing.T) {
	var left bool
	n := 0
	for v, err := range headspace.Cache(loader(100, always(0), nil, &left), headspace.Replay{Keep: 3, After: 4}) {
		if n++; n > 4 && !left {
			t.Fatal("it repeats while the data's loop goes on")
		}
		if want := (n - 5) % 3; n > 4 && v != want || err != nil {
			t.Fatalf("item %d is %d, %v, want %d", n, v, err, want)
		}
		if n == 10000 {
			break
		}
	}
	if n != 10000 {
		t.Errorf("it ended after %d items", n)
	}
}

func TestACacheThatIsLeftLeavesItsData(t *testing.T) {
	var left bool
	got, err := take(headspace.Cache(loader(100, always(0), nil, &left), headspace.Replay{Keep: 50}), 2)
	if err != nil || len(got) != 2 || !left {
		t.Errorf("got %v, %v; data left: %v", got, err, left)
	}
}

func TestACacheOverNothingEndsWithAnError(t *testing.T) {
	var left bool
	for name, c := range map[string]struct {
		data   iter.Seq2[int, error]
		replay headspace.Replay
		items  int
		want   string
	}{
		"no items":          {loader(0, always(0), nil, &left), headspace.Replay{Keep: 1}, 0, headspace.ErrNoData.Error()},
		"fails at once":     {loader(0, always(0), errBroken, &left), headspace.Replay{Keep: 1}, 0, "broken"},
		"fails in between":  {loader(2, always(0), errBroken, &left), headspace.Replay{Keep: 3}, 2, "broken"},
		"keeps nothing":     {loader(2, always(0), nil, &left), headspace.Replay{}, 0, "Keep is 0"},
		"repeats too early": {loader(2, always(0), nil, &left), headspace.Replay{Keep: 2, After: 1}, 0, "After is 1, less than the 2"},
		"stops too early":   {loader(2, always(0), nil, &left), headspace.Replay{Keep: 2, After: 4, Stop: 3}, 0, "Stop is 3, less than the 4"},
		"stops before it":   {loader(2, always(0), nil, &left), headspace.Replay{Keep: 2, Stop: -1}, 0, "Stop is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := take(headspace.Cache(c.data, c.replay), -1)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(got) != c.items {
				t.Errorf("got %v, %v, want %d items and %q", got, err, c.items, c.want)
			}
		})
	}
}

// analyze runs a loop of 30 ms in virtual time.
func analyze(t *testing.T, cfg headspace.Config, pause func(i int) time.Duration) (headspace.Report, error) {
	t.Helper()
	var left bool
	return headspace.Analyze(t.Context(), cfg, func(context.Context) iter.Seq2[int, error] {
		return loader(1000, pause, nil, &left)
	}, func(context.Context, int) error {
		time.Sleep(30 * time.Millisecond)
		return nil
	})
}

func TestAnAnalysisSaysWhatAPerfectLoaderWouldGain(t *testing.T) {
	for name, c := range map[string]struct {
		pause      func(i int) time.Duration
		now        time.Duration
		gain       float64
		worth      bool
		hours      float64
		conclusion string
	}{
		"a loader inline":       {always(20 * time.Millisecond), 50 * time.Millisecond, 0.4, true, 1e6 * 0.02 / 3600, "A better loader pays."},
		"a loader that is free": {always(0), 30 * time.Millisecond, 0, false, 0, "not what limits"},
		"one that stops now and then": {func(i int) time.Duration {
			if i%50 == 49 {
				return time.Second
			}
			return 0
		}, 50 * time.Millisecond, 0.4, true, 1e6 * 0.02 / 3600, "A better loader pays."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := analyze(t, headspace.Config{Planned: 1e6}, c.pause)
				if err != nil {
					t.Fatal(err)
				}
				if r.Now != c.now || r.Ideal != 30*time.Millisecond || math.Abs(r.Gain-c.gain) > 1e-9 || r.Worth != c.worth || !r.Narrow {
					t.Errorf("got %+v", r)
				}
				if r.Rounds != 6 {
					t.Errorf("%d rounds, of which all are alike, want 6: the fewest that give 0.95", r.Rounds)
				}
				if math.Abs(r.Saved.Hours()-c.hours) > 1e-6 || !strings.Contains(r.String(), c.conclusion) {
					t.Errorf("saved %v, want %v hours; %q", r.Saved, c.hours, r)
				}
			})
		})
	}
}

func TestAnAnalysisGoesOnUntilItIsCertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		noisy := func(int) time.Duration { // each round of 120 pauses is a different one: 0 to 30 ms
			calls++
			return time.Duration(calls/121%4) * 10 * time.Millisecond
		}
		r, err := analyze(t, headspace.Config{Rounds: 15}, noisy)
		if err != nil || r.Rounds != 15 || r.Narrow || r.High-r.Low <= 0.04 {
			t.Errorf("got %+v, %v", r, err)
		}
		if r.Low > r.Gain || r.Gain > r.High {
			t.Errorf("the gain %v is not between %v and %v", r.Gain, r.Low, r.High)
		}
	})
}

func TestAnAnalysisEndsWithTheErrorOfItsParts(t *testing.T) {
	var left bool
	ended, end := context.WithCancelCause(t.Context())
	end(errBroken)
	fine := func(context.Context, int) error { return nil }
	for name, c := range map[string]struct {
		ctx  context.Context // of the case
		cfg  headspace.Config
		data iter.Seq2[int, error]
		step func(context.Context, int) error
		want string
	}{
		"no data":          {t.Context(), headspace.Config{}, loader(0, always(0), nil, &left), fine, headspace.ErrNoData.Error()},
		"data that fails":  {t.Context(), headspace.Config{}, loader(50, always(0), errBroken, &left), fine, "broken"},
		"too little data":  {t.Context(), headspace.Config{}, loader(50, always(0), nil, &left), fine, "the data has 50 items, and a round takes 120"},
		"a step that does": {t.Context(), headspace.Config{}, loader(500, always(0), nil, &left), func(context.Context, int) error { return errBroken }, "broken"},
		"the context":      {ended, headspace.Config{}, loader(500, always(0), nil, &left), fine, "broken"},
		"few rounds":       {t.Context(), headspace.Config{Rounds: 3}, loader(500, always(0), nil, &left), fine, "it takes 6"},
		"many kept":        {t.Context(), headspace.Config{Keep: 121}, loader(500, always(0), nil, &left), fine, "Keep is 121"},
		"negative":         {t.Context(), headspace.Config{Warm: -1}, loader(500, always(0), nil, &left), fine, "negative"},
		"certainty":        {t.Context(), headspace.Config{Confidence: 1}, loader(500, always(0), nil, &left), fine, "Confidence 1"},
	} {
		t.Run(name, func(t *testing.T) {
			left = false
			_, err := headspace.Analyze(c.ctx, c.cfg, func(context.Context) iter.Seq2[int, error] { return c.data }, c.step)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
