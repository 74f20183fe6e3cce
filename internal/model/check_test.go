package model_test

import (
	"slices"
	"testing"

	"github.com/weirflow/weir/internal/model"
)

// A walker goes along edges between numbers, from 0 to 9.
func walk(edges map[int][]int, faults ...int) model.Result {
	return model.Explore(model.Machine[int]{
		Steps: func(s int, to func(string, int)) {
			for _, next := range edges[s] {
				name := string(rune('0' + next))
				if slices.Contains(faults, next) {
					name = "!" + name
				}
				to(name, next)
			}
		},
		Broken: func(s int) string {
			if s == 8 {
				return "eight"
			}
			return ""
		},
		Unfinished: func(s int) string {
			if s != 9 {
				return "not at nine"
			}
			return ""
		},
	}, 100)
}

func TestASearchFindsWhatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		name   string
		edges  map[int][]int
		faults []int
		want   string
		trace  []string
	}{
		{"nothing", map[int][]int{0: {1, 2}, 1: {9}, 2: {9}}, nil, "", nil},
		{"a state that must not be, by the shortest way", map[int][]int{0: {1, 2}, 1: {3}, 2: {8}, 3: {8}, 8: {9}}, nil, "eight", []string{"2", "8"}},
		{"a deadlock", map[int][]int{0: {1, 9}}, nil, "deadlock: not at nine", []string{"1"}},
		{"a deadlock that only a fault would end", map[int][]int{0: {1}, 1: {9}}, []int{9}, "deadlock: not at nine", []string{"1"}},
		{"a livelock", map[int][]int{0: {1, 9}, 1: {2}, 2: {1}}, nil, "livelock: no end can be reached", []string{"1"}},
		{"a livelock that only a fault would end", map[int][]int{0: {1}, 1: {2, 9}, 2: {1}}, []int{9}, "livelock: no end can be reached", nil},
		{"no livelock where one way leads out", map[int][]int{0: {1}, 1: {2}, 2: {1, 9}}, nil, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if r := walk(tc.edges, tc.faults...); r.Violation != tc.want || !slices.Equal(r.Trace, tc.trace) {
				t.Errorf("found %q by %v, want %q by %v", r.Violation, r.Trace, tc.want, tc.trace)
			}
		})
	}
}

func TestASearchIsGivenUpAtItsLimit(t *testing.T) {
	r := model.Explore(model.Machine[int]{
		Steps:      func(s int, to func(string, int)) { to("on", s+1) },
		Broken:     func(int) string { return "" },
		Unfinished: func(int) string { return "" },
	}, 1000)
	if !r.Stopped || r.States < 1000 || (model.Check{}).Wrong(r) == "" {
		t.Errorf("stopped: %t after %d states, want it stopped behind 1000 and wrong", r.Stopped, r.States)
	}
}

// A check says so when its search has missed what it was made for, or has found something else than it should.
func TestACheckIsWrongUnlessItsSearchFoundWhatItShould(t *testing.T) {
	for _, tc := range []struct {
		name  string
		check model.Check
		found model.Result
		right bool
	}{
		{"nothing found", model.Check{}, model.Result{}, true},
		{"a violation", model.Check{}, model.Result{Violation: "order"}, false},
		{"a situation met", model.Check{Meets: []string{"kill"}}, model.Result{Reached: model.Tally{"kill": 1}}, true},
		{"a situation never met", model.Check{Meets: []string{"kill"}}, model.Result{}, false},
		{"a rule left out, and caught", model.Check{Without: "rule", Breaks: "order"}, model.Result{Violation: "order of two"}, true},
		{"a rule left out, and something else", model.Check{Without: "rule", Breaks: "order"}, model.Result{Violation: "lost"}, false},
		{"a rule left out, and nothing", model.Check{Without: "rule"}, model.Result{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if wrong := tc.check.Wrong(tc.found); (wrong == "") != tc.right {
				t.Errorf("got %q", wrong)
			}
		})
	}
}
