package plan_test

import (
	"fmt"
	"testing"

	"github.com/weirflow/weir/internal/plan"
)

func TestAPolicyToleratesUpToItsBudget(t *testing.T) {
	const during, atTheEnd = false, true
	for _, c := range []struct {
		policy           plan.Policy
		failed, finished int64
		final            bool
		want             bool
	}{
		{plan.Policy{}, 0, 1000, during, true},
		{plan.Policy{}, 1, 1000, during, false},
		{plan.Policy{Count: 3}, 3, 3, during, true},
		{plan.Policy{Count: 3}, 4, 1000, during, false},
		{plan.Policy{Count: 3}, 4, 4, atTheEnd, false},
		{plan.Policy{Fraction: 0.1}, 99, 99, during, true},
		{plan.Policy{Fraction: 0.1}, 99, 99, atTheEnd, false},
		{plan.Policy{Fraction: 0.1}, 10, 100, during, true},
		{plan.Policy{Fraction: 0.1}, 11, 100, during, false},
		{plan.Policy{Fraction: 0.1}, 1, 10, atTheEnd, true},
		{plan.Policy{Fraction: 0.1}, 1, 9, atTheEnd, false},
		{plan.Policy{Fraction: 0.1}, 0, 0, atTheEnd, true},
		{plan.Policy{Fraction: 1}, 500, 500, atTheEnd, true},
		{plan.Policy{Count: 1000, Fraction: 0.1}, 200, 1000, during, false},
	} {
		t.Run(fmt.Sprintf("%+v with %d of %d failed, at the end %t", c.policy, c.failed, c.finished, c.final), func(t *testing.T) {
			if got := c.policy.Tolerates(c.failed, c.finished, plan.DefaultProbation, c.final); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
