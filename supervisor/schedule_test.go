package supervisor_test

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/internal/history"
)

// faultSeed is how a schedule that has failed is run again. A flag is defined where it is declared, or not at all.
var (
	faultSeed  = flag.Int64("fault.seed", -1, "run only the fault schedule of this seed; -1: all")
	faultSeeds = flag.Int("fault.seeds", 1000, "how many fault schedules")
)

// A sight is a state of a run that is worth being hit by a fault.
type sight int

const (
	deathWithPrefix sight = iota
	deathWhileHolding
	unsureDeath
	secondDeath
	goexit
	openFailed
	failedHalfWay
	failedForGood
	failedInBranch
	failedPart
	letterWritten
	letterLost
	sourceFailed
	sourceDied
	sourceLetter
	triedAgain
	retriedAfterPause
	triedByIf
	replaced
	replacedTogether
	replacedWhileOthersWork
	timeoutHeeded
	hangTimedOut
	runFailed
	nextTimedOut
	canceledWhileFull
	canceledInUserCode
	canceledInPause
	drainedPartial
	sightsInAll
)

func (s sight) String() string {
	return [sightsInAll]string{
		"a worker dies behind items of the same piece that it has finished", "an aggregator dies that holds items",
		"a death that may be any item's", "a second death in a row", "Goexit", "an open that fails",
		"a function fails that has yielded some of its outputs", "an item fails for good", "an item fails in a branch",
		"a part of a batch fails", "a dead letter is written", "a dead letter cannot be written",
		"an item of a source fails", "a source dies", "a dead letter of a source is written",
		"an item is tried again", "an item is tried again after a pause", "an item is tried again because If says so", "a worker is replaced", "a worker is replaced together with those of another stage", "a worker dies while others work",
		"a Timeout is heeded", "a Timeout is ignored", "a run fails", "Next is too late",
		"the run is ended while all is full", "the run is ended while functions are at work", "the run is ended while something waits for another attempt", "a drain with an incomplete batch",
	}[s]
}

// Sights count how often a fault has hit what it should.
type sights [sightsInAll]atomic.Int64

func (s *sights) see(what sight) { s[what].Add(1) }

// Whatever goes wrong in a pipeline, and however it is ended: nothing is lost, nothing comes out twice or in the wrong
// order, nothing comes out that was not put in, no bound is exceeded, and what is counted is what has happened.
func TestRandomSchedulesLoseNothing(t *testing.T) {
	seeds := *faultSeeds
	if testing.Short() {
		seeds = 100
	}
	seen := &sights{}
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			if *faultSeed >= 0 {
				if seed > 0 {
					return
				}
				seed = int(*faultSeed)
			}
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				s := randomSchedule(uint64(seed))
				var wrong []history.Violation
				synctest.Test(t, func(t *testing.T) { wrong = s.play(t.Context(), seen) })
				if wrong != nil {
					t.Errorf("%s\nin\n%v\nagain: go test ./supervisor -run 'TestRandomSchedulesLoseNothing' -fault.seed=%d", listed(wrong), s, seed)
				}
			})
		}
	})
	for s := range sightsInAll {
		n := seen[s].Load()
		t.Logf("%6d times: %v", n, s)
		switch {
		case *faultSeed >= 0 || testing.Short():
		case n == 0:
			t.Errorf("in no schedule: %v", s)
		}
	}
}
