package headspace

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// Config says how to measure. The zero value works.
type Config struct {
	Keep   int // items to repeat; 0 means 16, or Warm+Steps if that is less
	Warm   int // steps before each measurement, which are not counted; 0 means 20
	Steps  int // steps of each measurement; 0 means 100
	Rounds int // at most; 0 means 20. A round is one measurement of each kind, and one loader

	// It ends when the interval that has the gain with this confidence, above 0 and below 1, is no wider than twice Within, a part of the
	// step time. 0 means 0.95 and 0.02.
	Confidence, Within float64

	// Worth is the gain, a part of the step time, from which on it is worth anybody's time; 0 means 0.02.
	Worth float64
	// Planned is how many steps the job has; 0 leaves Report.Saved out.
	Planned int64
}

// filled is c with defaults.
func (c Config) filled() (Config, error) {
	c.Warm, c.Steps, c.Rounds = either(c.Warm, 20), either(c.Steps, 100), either(c.Rounds, 20)
	c.Keep = either(c.Keep, min(16, c.Warm+c.Steps))
	c.Confidence, c.Within, c.Worth = either(c.Confidence, 0.95), either(c.Within, 0.02), either(c.Worth, 0.02)
	if min(c.Warm, c.Steps, c.Rounds, c.Keep) < 1 || c.Planned < 0 {
		return c, fmt.Errorf("headspace: a number in %+v is negative", c)
	}
	if c.Keep > c.Warm+c.Steps {
		return c, fmt.Errorf("headspace: Keep is %d, more than the %d steps with the loader", c.Keep, c.Warm+c.Steps)
	}
	if !(c.Confidence > 0 && c.Confidence < 1 && c.Within > 0 && c.Worth > 0) {
		return c, fmt.Errorf("headspace: Confidence %v, Within %v or Worth %v is not above 0, or the first not below 1", c.Confidence, c.Within, c.Worth)
	}
	if least := rounds(c.Confidence); c.Rounds < least {
		return c, fmt.Errorf("headspace: %d rounds cannot give a confidence of %v: it takes %d", c.Rounds, c.Confidence, least)
	}
	return c, nil
}

func either[T int | float64](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Analyze runs step over what data gives, as it comes, and then over kept items of it, in turn, until the difference is certain or
// cfg.Rounds are over. It blocks for as long as that takes: at least six rounds with the usual confidence, each of 2 x (Warm +
// Steps) steps.
//
// data is called for each round and returns the loader's output from its beginning, as supervisor.Items does; it must have
// Warm + Steps items. Its loop is always left properly. step is the work of the loop on one item: it gets ctx, and an error of
// it ends the analysis.
//
// On an error, that of the data, of step, of ctx or of cfg, the report has the rounds that were whole, and means little.
func Analyze[T any](ctx context.Context, cfg Config, data func(context.Context) iter.Seq2[T, error], step func(context.Context, T) error) (Report, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return Report{}, err
	}
	var now, ideal, gains []float64
	for len(gains) < cfg.Rounds {
		a, b, err := round(ctx, cfg, data, step)
		if err != nil {
			return report(cfg, now, ideal, gains), err
		}
		now, ideal, gains = append(now, a), append(ideal, b), append(gains, 1-b/a)
		if low, high, ok := interval(gains, cfg.Confidence); ok && high-low <= 2*cfg.Within {
			break
		}
	}
	return report(cfg, now, ideal, gains), nil
}

// round returns the mean seconds of a step with the loader and without.
func round[T any](ctx context.Context, cfg Config, data func(context.Context) iter.Seq2[T, error], step func(context.Context, T) error) (now, ideal float64, err error) {
	real := cfg.Warm + cfg.Steps
	enough := func(yield func(T, error) bool) {
		n := 0
		for v, err := range data(ctx) {
			if n++; !yield(v, err) || err != nil {
				return
			}
		}
		if n > 0 { // otherwise the cache says so
			var zero T
			yield(zero, fmt.Errorf("headspace: the data has %d items, and a round takes %d of it: Warm %d and Steps %d", n, real, cfg.Warm, cfg.Steps))
		}
	}
	steps, begin := 0, time.Time{}
	for v, err := range Cache(enough, Replay{Keep: cfg.Keep, After: real, Stop: 2 * real}) {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return 0, 0, err
		}
		if err := step(ctx, v); err != nil {
			return 0, 0, err
		}
		switch steps++; steps {
		case cfg.Warm, real + cfg.Warm:
			begin = time.Now()
		case real:
			now = time.Since(begin).Seconds() / float64(cfg.Steps)
		case 2 * real:
			ideal = time.Since(begin).Seconds() / float64(cfg.Steps)
		}
	}
	if now <= 0 {
		return 0, 0, fmt.Errorf("headspace: %d steps took no time at all", cfg.Steps)
	}
	return now, ideal, nil
}
