package codectest

import (
	"math"
	"testing"
	"time"
)

type fold string

func (f fold) Equal(g fold) bool { return len(f) == len(g) }

func TestDifference(t *testing.T) {
	now := time.Now()
	one, two := 1, 2
	for _, tt := range []struct {
		name      string
		want, got any
		diff      string
	}{
		{"nil and empty slices are the same", []int(nil), []int{}, ""},
		{"nil and empty maps are the same", map[string]int{}, map[string]int(nil), ""},
		{"NaN is NaN", math.NaN(), math.NaN(), ""},
		{"NaN is no number", math.NaN(), 1.0, "it: 1, want NaN"},
		{"the monotonic reading does not count", now, now.Round(0), ""},
		{"the offset counts", now.UTC(), now.In(time.FixedZone("", 60)), "it: "},
		{"another type", 1, int8(1), "it: of type int8, want int"},
		{"nothing came back", 1, nil, "it: <invalid reflect.Value>, want 1"},
		{"a type that knows better", fold("ab"), fold("cd"), ""},
		{"a type that knows better still", fold("ab"), fold("c"), "it: c, want ab"},
		{"pointers are followed", &one, &two, "it: 2, want 1"},
		{"nil is not something", (*int)(nil), &one, "it: "},
		{"unexported fields count", hidden{1, 2}, hidden{1, 3}, "it.hidden: 3, want 2"},
		{"lengths", []int{1}, []int{1, 2}, "it: length 2, want 1"},
		{"elements", [2]int{1, 2}, [2]int{1, 3}, "it[1]: 3, want 2"},
		{"keys", map[string]int{"a": 1}, map[string]int{"b": 1}, "it: no key a"},
		{"values", map[string]int{"a": 1}, map[string]int{"a": 2}, "it[a]: 2, want 1"},
		{"sizes", map[string]int{"a": 1}, map[string]int{"a": 1, "b": 2}, "it: 2 entries, want 1"},
		{"complex", complex(1, 2), complex(1, 3), "imag it: 3, want 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			diff := difference(tt.want, tt.got)
			if (diff == "") != (tt.diff == "") || len(diff) < len(tt.diff) || diff[:len(tt.diff)] != tt.diff {
				t.Errorf("difference %q, want %q", diff, tt.diff)
			}
		})
	}
}
