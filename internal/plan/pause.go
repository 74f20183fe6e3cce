package plan

import (
	"time"

	"github.com/weirflow/weir/internal/restart"
)

// Defaults of stages.Retry and stages.Restart.
const (
	firstPause       = 100 * time.Millisecond
	mostRetryPause   = 10 * time.Second
	mostRestartPause = 5 * time.Second
	restartWithin    = time.Minute
)

// Pause returns how long an item waits for its next attempt that has failed so many times; the second attempt behind a
// panic is immediate. dice, in [0, 1), shortens it by up to half.
func (r Retry) Pause(failed int, panicked bool, dice float64) time.Duration {
	first, most := r.First, r.Max
	if first == 0 {
		first = firstPause
	}
	if most == 0 {
		most = max(mostRetryPause, first)
	}
	if panicked {
		failed--
	}
	return restart.Pause(failed, first, most, dice)
}

// Limits are those of a stage's restarts.
func (r Restart) Limits() restart.Limits {
	l := restart.Limits{Max: r.Max, Within: r.Within, First: r.First, Most: r.Pause, InARow: MaxInARow}
	switch {
	case l.Max == 0:
		l.Max = MaxInARow
	case l.Max < 0:
		l.Max = 0
	}
	if l.Within == 0 {
		l.Within = restartWithin
	}
	if l.First == 0 {
		l.First = firstPause
	}
	if l.Most == 0 {
		l.Most = max(mostRestartPause, l.First)
	}
	return l
}
