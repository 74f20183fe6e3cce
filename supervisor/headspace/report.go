package headspace

import (
	"fmt"
	"time"
)

// A Report is the outcome of [Analyze].
type Report struct {
	// Mean time of a step, with the loader and over kept data; of several rounds the median. The mean, because the job's time is the
	// sum of its steps: a loader that stops for a second now and then costs as much as one that is always a little late.
	Now, Ideal time.Duration
	// Gain is the part of the time that a loader which costs nothing would save: 1 - Ideal/Now, the median of the rounds'. Negative if the loop
	// was faster with the loader, by chance.
	Gain      float64
	Low, High float64       // Gain lies between them, with the confidence asked for; 0 if there were too few rounds
	Saved     time.Duration // of Config.Planned steps
	Rounds    int
	Narrow    bool // the interval is as narrow as asked; otherwise the rounds were used up
	Worth     bool // Low is at least Config.Worth: a better loader pays
}

func report(cfg Config, now, ideal, gains []float64) Report {
	r := Report{Now: seconds(median(now)), Ideal: seconds(median(ideal)), Gain: median(gains), Rounds: len(gains)}
	low, high, ok := interval(gains, cfg.Confidence)
	if ok {
		r.Low, r.High = low, high
		r.Narrow = high-low <= 2*cfg.Within
		r.Worth = low >= cfg.Worth
	}
	r.Saved = seconds(median(now) * r.Gain * float64(cfg.Planned))
	return r
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// String is the report in a few sentences.
func (r Report) String() string {
	s := fmt.Sprintf("A step takes %v; with a loader that costs nothing it would take %v: %.1f %% less (%.1f to %.1f %%, %d rounds).",
		r.Now.Round(time.Microsecond), r.Ideal.Round(time.Microsecond), 100*r.Gain, 100*r.Low, 100*r.High, r.Rounds)
	if r.Saved != 0 {
		s += fmt.Sprintf(" That is %.1f hours of the job.", r.Saved.Hours())
	}
	switch {
	case r.Worth:
		return s + " A better loader pays."
	case !r.Narrow:
		return s + " This is too uncertain to act on: measure more steps, or on a quieter machine."
	}
	return s + " The loader is not what limits this loop."
}
