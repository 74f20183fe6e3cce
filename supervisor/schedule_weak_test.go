package supervisor_test

import (
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/internal/history"
	"github.com/weirflow/weir/internal/weak"
)

// A runtime that breaks a law is caught by the schedules that a sound one passes: also if it never ends.
func TestEachWeakenedVariantIsCaught(t *testing.T) {
	const seeds = 60
	// About half of what was found when this was written: a checker that is blind to most of it does not pass.
	floor := map[weak.Law]int{weak.NoCustody: 14, weak.CreditOnFinish: 4, weak.EmptyLedger: 18, weak.FilterDelivered: 11}
	for law, want := range map[weak.Law]history.Kind{
		weak.NoCustody: history.Lost, weak.CreditOnFinish: history.OverBound, weak.EmptyLedger: history.Lost, weak.FilterDelivered: history.Miscounted,
	} {
		t.Run(law.String(), func(t *testing.T) {
			found := map[history.Kind]int{} // in how many schedules
			for seed := range uint64(seeds) {
				s := randomSchedule(seed)
				if wrong := s.violations(t, law); wrong != nil {
					seen := map[history.Kind]bool{}
					for _, v := range wrong {
						seen[v.Kind] = true
					}
					for k := range seen {
						found[k]++
					}
				}
			}
			t.Logf("in %d schedules: %v", seeds, found)
			if least := floor[law]; found[want] < least {
				t.Errorf("%d of %d schedules show that something is %v, want %d at least: found %v", found[want], seeds, want, least, found)
			}
		})
	}
	t.Run("a sound runtime passes them", func(t *testing.T) {
		for seed := range uint64(seeds) {
			s := randomSchedule(seed)
			if wrong := s.violations(t, weak.None); wrong != nil {
				t.Errorf("seed %d: %s", seed, listed(wrong))
			}
		}
	})
}

// violations plays s in a bubble, with a law broken.
func (s *schedule) violations(t *testing.T, law weak.Law) (wrong []history.Violation) {
	synctest.Test(t, func(t *testing.T) { wrong = s.play(weak.With(t.Context(), law), &sights{}) })
	return wrong
}
