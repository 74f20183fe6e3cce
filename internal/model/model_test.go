package model_test

import (
	"flag"
	"testing"

	"github.com/weirflow/weir/internal/model"
)

// -full searches the largest configurations too, which takes about a minute.
var full = flag.Bool("full", false, "search the largest configurations too")

func checks() []model.Check {
	switch {
	case *full:
		return model.Checks(model.Full)
	case testing.Short():
		return model.Checks(model.Small)
	}
	return model.Checks(model.Large)
}

func TestTheLinkKeepsItsPromises(t *testing.T) {
	for _, c := range checks() {
		if c.Without != "" {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			r := c.Run()
			t.Logf("%d states, %d steps, %d ends; %v", r.States, r.Steps, r.Ends, r.Reached)
			if wrong := c.Wrong(r); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// A rule that can be left out without harm is either no rule, or the model does not see what it is for.
func TestEveryRuleOfTheLinkIsNeeded(t *testing.T) {
	for _, c := range checks() {
		if c.Without == "" {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			r := c.Run()
			t.Logf("%d states; %s: %v", r.States, r.Violation, r.Trace)
			if wrong := c.Wrong(r); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}
