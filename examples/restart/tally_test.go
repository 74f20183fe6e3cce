package main

import (
	"strings"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

// What the consumer says of its items must be able to be bad news.
func TestTheConsumerSeesWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name  string
		came  []int64
		want  result // but for the counts of the run
		wrong string // "": nothing
	}{
		{"all have come", []int64{1, 2, 3, 4, 6}, result{}, ""},
		{"one has not", []int64{1, 2, 4, 6}, result{Lost: 1}, "1 items lost, 0 duplicated, 0 reordered"},
		{"the last has not", []int64{1, 2, 3, 4}, result{Lost: 1}, "1 items lost"},
		{"none has", nil, result{Lost: 5}, "5 items lost"},
		{"one has twice", []int64{1, 2, 2, 3, 4, 6}, result{Duplicated: 1}, "1 duplicated"},
		{"one has much later again", []int64{1, 2, 3, 4, 6, 1}, result{Duplicated: 1}, "1 duplicated"},
		{"two have changed places", []int64{1, 3, 2, 4, 6}, result{Reordered: 1}, "1 reordered"},
		{"one has failed, and comes", []int64{1, 2, 3, 4, 5, 6}, result{invented: 1}, "1 that should have failed"},
		{"one was never sent", []int64{1, 2, 3, 4, 6, 700}, result{invented: 1}, "1 that should have failed"},
		{"zero is no item", []int64{0, 1, 2, 3, 4, 6}, result{invented: 1}, "1 that should have failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got tally
			for _, n := range tt.came {
				got.add(n)
			}
			tt.want.Yielded, tt.want.Delivered, tt.want.Failed = 6, 5, 1
			r := summarize(supervisor.Stats{Yielded: 6, Delivered: 5, Failed: 1}, Config{Items: 6, FailEvery: 5}, &got)
			if r != tt.want {
				t.Errorf("%+v, want %+v", r, tt.want)
			}
			if err := r.check(); (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%v, want %q", err, tt.wrong)
			}
		})
	}
	if err := (result{Yielded: 6, Delivered: 4, Failed: 1}).check(); err == nil || !strings.Contains(err.Error(), "do not add up") {
		t.Errorf("a count that does not add up: %v", err)
	}
}
