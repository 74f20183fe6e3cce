package restart_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weirflow/weir/internal/restart"
)

func TestPauseDoublesUpToItsLimit(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, tt := range []struct {
		name        string
		n           int
		first, most time.Duration
		dice        float64
		want        time.Duration
	}{
		{"before the series", 0, 100 * ms, 5 * s, 0, 0},
		{"long before it", math.MinInt, 100 * ms, 5 * s, 0, 0},
		{"the first", 1, 100 * ms, 5 * s, 0, 100 * ms},
		{"the second", 2, 100 * ms, 5 * s, 0, 200 * ms},
		{"the sixth", 6, 100 * ms, 5 * s, 0, 3200 * ms},
		{"the seventh meets the limit", 7, 100 * ms, 5 * s, 0, 5 * s},
		{"one far behind it", 1_000_000_000, 100 * ms, 5 * s, 0, 5 * s},
		{"the last that there can be", math.MaxInt, 100 * ms, 5 * s, 0, 5 * s},
		{"a limit below the first", 1, 10 * s, 5 * s, 0, 5 * s},
		{"a limit that is met exactly", 3, s, 4 * s, 0, 4 * s},
		{"no pause", math.MaxInt, 0, 5 * s, 0.5, 0},
		{"no pause allowed", 3, s, 0, 0.5, 0},
		{"half of the dice", 1, 100 * ms, 5 * s, 0.5, 75 * ms},
		{"dice behind the limit", 9, 100 * ms, 5 * s, 0.5, 3750 * ms},
		{"it does not overflow", 100, 1, math.MaxInt64, 0, math.MaxInt64},
		{"nor where it would turn negative", 2, math.MaxInt64/2 + 1, math.MaxInt64, 0, math.MaxInt64},
		{"nor where it just does not", 2, math.MaxInt64 / 2, math.MaxInt64, 0, math.MaxInt64 - 1},
		{"nor from the start", 1, math.MaxInt64, math.MaxInt64, 0, math.MaxInt64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := restart.Pause(tt.n, tt.first, tt.most, tt.dice); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestTheDiceShortenAPauseByAtMostHalf(t *testing.T) {
	for _, first := range []time.Duration{1, 2, 3, 100 * time.Millisecond, time.Hour, math.MaxInt64} {
		before := first + 1
		if before < 0 {
			before = first
		}
		for _, dice := range []float64{0, 1e-9, 0.25, 0.5, 0.75, math.Nextafter(1, 0)} {
			got := restart.Pause(1, first, math.MaxInt64, dice)
			if got > first || got < first/2 || got > before {
				t.Errorf("%v with %v: %v", first, dice, got)
			}
			before = got
		}
	}
}

func defaults() restart.Limits {
	return restart.Limits{Max: 10, Within: time.Minute, First: 100 * time.Millisecond, Most: 5 * time.Second, InARow: 10}
}

// An act is something that happens to a record, at a time.
type act struct {
	at   time.Duration
	what string // panic, open, progress, opened
	want string // of a death: the pause, or "over"
}

func TestARecordAnswersDeaths(t *testing.T) {
	const s = time.Second
	few := restart.Limits{Max: 3, Within: time.Minute, First: 100 * time.Millisecond, Most: 5 * s, InARow: 10}
	none := defaults()
	none.Max = -1
	// the pauses after deaths in a row
	series := []string{"0s", "100ms", "200ms", "400ms", "800ms", "1.6s", "3.2s", "5s", "5s", "5s"}
	row := func(what string, every time.Duration) (acts []act) {
		for i, pause := range append(slices.Clone(series), "over") {
			acts = append(acts, act{time.Duration(i) * every, what, pause})
		}
		return acts
	}
	for _, tt := range []struct {
		name   string
		limits restart.Limits
		acts   []act
	}{
		{"panics in a row: the first replacement is immediate, ten there are", defaults(), row("panic", 0)},
		{"failed opens in a row", defaults(), row("open", s)},
		{"slow failures are ended by the rule about those in a row", defaults(), row("panic", 10*s)},
		{"even an hour apart", defaults(), row("open", time.Hour)},
		{"nothing may be replaced", none, []act{{0, "panic", "over"}}},
		{"the series begins anew with progress", defaults(), []act{
			{0, "panic", "0s"}, {0, "panic", "100ms"}, {0, "panic", "200ms"}, {0, "progress", ""}, {0, "panic", "0s"}, {0, "panic", "100ms"},
		}},
		{"panics are forgotten on progress", few, []act{
			{0, "panic", "0s"}, {0, "panic", "100ms"}, {0, "panic", "200ms"}, {0, "progress", ""},
			{s, "panic", "0s"}, {s, "panic", "100ms"}, {s, "panic", "200ms"}, {s, "panic", "over"},
		}},
		{"failed opens are not, but another beginning has no pause", few, []act{
			{0, "open", "0s"}, {0, "opened", ""}, {0, "progress", ""}, {s, "open", "0s"}, {s, "opened", ""}, {s, "progress", ""},
			{2 * s, "open", "0s"}, {2 * s, "opened", ""}, {2 * s, "progress", ""}, {3 * s, "open", "over"},
		}},
		{"opens that fail beside a worker that makes progress wait longer and longer", defaults(), []act{
			{0, "open", "0s"}, {0, "progress", ""}, {s, "open", "100ms"}, {s, "progress", ""}, {2 * s, "open", "200ms"}, {2 * s, "progress", ""},
			{3 * s, "open", "400ms"}, {3 * s, "progress", ""}, {4 * s, "open", "800ms"}, {4 * s, "progress", ""}, {5 * s, "open", "1.6s"},
			{5 * s, "progress", ""}, {6 * s, "open", "3.2s"}, {6 * s, "progress", ""}, {7 * s, "open", "5s"}, {7 * s, "progress", ""},
			{8 * s, "open", "5s"}, {8 * s, "progress", ""}, {9 * s, "open", "5s"}, {9 * s, "progress", ""}, {10 * s, "open", "over"},
		}},
		{"a panic among them has the pause of panics", defaults(), []act{
			{0, "open", "0s"}, {0, "progress", ""}, {0, "open", "100ms"}, {0, "progress", ""}, {0, "panic", "0s"}, {0, "open", "200ms"},
		}},
		{"an open that succeeds ends their series", defaults(), []act{
			{0, "open", "0s"}, {0, "progress", ""}, {0, "open", "100ms"}, {0, "progress", ""}, {0, "opened", ""}, {0, "open", "0s"},
		}},
		{"but is no progress", defaults(), []act{{0, "open", "0s"}, {0, "opened", ""}, {0, "open", "100ms"}, {0, "opened", ""}, {0, "panic", "200ms"}}},
		{"three in a minute are tolerated, the fourth is not", few, []act{
			{0, "panic", "0s"}, {20 * s, "panic", "100ms"}, {40 * s, "panic", "200ms"}, {60*s - 1, "panic", "over"},
		}},
		{"the minute slides", few, []act{
			{0, "panic", "0s"}, {20 * s, "panic", "100ms"}, {40 * s, "panic", "200ms"}, {60 * s, "panic", "400ms"}, {80 * s, "panic", "800ms"}, {99 * s, "panic", "over"},
		}},
		{"half a minute apart only those within a minute count, until there are too many in a row", few, []act{
			{0, "panic", "0s"}, {30 * s, "panic", "100ms"}, {60 * s, "panic", "200ms"}, {90 * s, "panic", "400ms"}, {120 * s, "panic", "800ms"},
			{150 * s, "panic", "1.6s"}, {180 * s, "panic", "3.2s"}, {210 * s, "panic", "5s"}, {240 * s, "panic", "5s"}, {270 * s, "panic", "5s"},
			{300 * s, "panic", "over"},
		}},
		{"failed opens are forgotten when their time is over", few, []act{
			{0, "open", "0s"}, {0, "opened", ""}, {0, "progress", ""}, {20 * s, "open", "0s"}, {20 * s, "opened", ""}, {20 * s, "progress", ""},
			{40 * s, "open", "0s"}, {40 * s, "opened", ""}, {40 * s, "progress", ""}, {60 * s, "open", "0s"}, {60 * s, "opened", ""},
			{60 * s, "progress", ""}, {79 * s, "open", "over"},
		}},
		{"opens that failed before the progress count with panics behind it", few, []act{
			{0, "open", "0s"}, {0, "open", "100ms"}, {0, "progress", ""}, {s, "panic", "0s"}, {s, "panic", "over"},
		}},
		{"progress before any death is nothing", few, []act{{0, "progress", ""}, {0, "opened", ""}, {0, "panic", "0s"}}},
		{"the time need not begin at zero", few, []act{{time.Hour, "panic", "0s"}, {time.Hour, "panic", "100ms"}, {time.Hour + 60*s, "panic", "200ms"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := restart.New(tt.limits)
			for i, a := range tt.acts {
				switch a.what {
				case "progress":
					r.Progress()
					continue
				case "opened":
					r.Opened()
					continue
				}
				pause, again := r.Died(a.at, errors.New(a.what), a.what == "open", 0)
				got := pause.String()
				if !again {
					got = "over"
					if pause != 0 {
						t.Errorf("act %d: over, with a pause of %v", i, pause)
					}
				}
				if got != a.want {
					t.Errorf("act %d, %s at %v: %s, want %s", i, a.what, a.at, got, a.want)
				}
			}
		})
	}
}

func TestTheDiceOfADeathShortenItsPause(t *testing.T) {
	r := restart.New(defaults())
	r.Died(0, nil, false, 0.5)
	if pause, _ := r.Died(0, nil, false, 0.5); pause != 75*time.Millisecond {
		t.Errorf("%v, want 75ms", pause)
	}
}

func TestCausesAreTheFirstAndTheLast(t *testing.T) {
	for _, tt := range []struct {
		deaths, last int
		want         string
	}{
		{0, 3, "[]"}, {1, 3, "[0]"}, {3, 3, "[0 1 2]"}, {4, 3, "[0 1 2 3]"}, {5, 3, "[0 2 3 4]"}, {11, 3, "[0 8 9 10]"}, {11, 0, "[0]"}, {2, 1, "[0 1]"},
	} {
		r := restart.New(defaults())
		for n := range tt.deaths {
			r.Died(time.Duration(n)*time.Hour, fmt.Errorf("%d", n), false, 0)
		}
		if got := fmt.Sprint(r.Causes(tt.last)); got != tt.want || r.Counted() != tt.deaths {
			t.Errorf("%d deaths, the last %d: %s of %d, want %s", tt.deaths, tt.last, got, r.Counted(), tt.want)
		}
	}
}

func TestCausesAreThoseThatCount(t *testing.T) {
	const s = time.Second
	r := restart.New(defaults())
	causes := func(want string) {
		t.Helper()
		if got := fmt.Sprint(r.Causes(10)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	r.Died(0, errors.New("panic"), false, 0)
	r.Died(s, errors.New("open"), true, 0)
	r.Died(2*s, errors.New("panic again"), false, 0)
	causes("[panic open panic again]")
	r.Progress()
	causes("[open]")
	r.Died(60*s, errors.New("third"), false, 0)
	causes("[open third]")
	r.Died(61*s, errors.New("fourth"), false, 0) // the open is too long ago
	causes("[third fourth]")
	r.Died(200*s, errors.New("fifth"), false, 0) // so are the others, but they are in a row with it
	causes("[third fourth fifth]")
	r.Progress()
	causes("[]")
}

// A long run may have any number of failures that are tolerated.
func TestARecordForgets(t *testing.T) {
	for name, step := range map[string]func(r *restart.Record, now time.Duration) bool{
		"panics with progress": func(r *restart.Record, now time.Duration) bool {
			_, again := r.Died(now, errors.ErrUnsupported, false, 0)
			r.Progress()
			return again
		},
		"opens in their time": func(r *restart.Record, now time.Duration) bool {
			_, again := r.Died(now, errors.ErrUnsupported, true, 0)
			r.Opened()
			r.Progress()
			return again
		},
		"opens that fail beside others": func(r *restart.Record, now time.Duration) bool {
			_, again := r.Died(now, errors.ErrUnsupported, true, 0)
			r.Progress()
			return again
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := restart.New(defaults())
			now := time.Duration(0)
			next := func() {
				if now += 6 * time.Second; !step(r, now) {
					t.Fatalf("over at %v", now)
				}
				if r.Counted() > 10 {
					t.Fatalf("%d deaths count at %v", r.Counted(), now)
				}
			}
			for range 10_000 {
				next()
			}
			// Room is made anew where the old one has been walked through, now and then.
			if n := testing.AllocsPerRun(1000, next); n > 0 {
				t.Errorf("%v allocations a death", n)
			}
		})
	}
}
