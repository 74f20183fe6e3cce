package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/weirflow/weir/supervisor"
)

// A tally is what the consumer knows by itself, without asking the run: which numbers have come, and in what order. The
// zero tally has seen none.
type tally struct {
	seen       []uint64 // a bit per number
	last       int64    // the greatest number that has come
	duplicated int64
	reordered  int64
}

// add notes that n has come.
func (t *tally) add(n int64) {
	for n>>6 >= int64(len(t.seen)) {
		t.seen = append(t.seen, 0)
	}
	switch {
	case t.has(n):
		t.duplicated++
	case n < t.last:
		t.reordered++
	}
	t.seen[n>>6] |= 1 << (n & 63)
	t.last = max(t.last, n)
}

func (t *tally) has(n int64) bool {
	return n>>6 < int64(len(t.seen)) && t.seen[n>>6]&(1<<(n&63)) != 0
}

// compare counts what should have come of the numbers 1 to n, and has not; and what has come, and should not have.
func (t *tally) compare(cfg Config, n int64) (lost, invented int64) {
	for i := range max(n, t.last) + 1 {
		switch wanted := 1 <= i && i <= n && !cfg.corrupt(i); {
		case wanted && !t.has(i):
			lost++
		case !wanted && t.has(i):
			invented++
		}
	}
	return lost, invented
}

// A result is what came of a run. As JSON it has exactly these keys, in this order.
type result struct {
	Yielded    int64   `json:"yielded"`
	Delivered  int64   `json:"delivered"`
	Filtered   int64   `json:"filtered"`
	Failed     int64   `json:"failed"`
	Restarts   int64   `json:"restarts"` // of workers
	Lost       int64   `json:"lost"`
	Duplicated int64   `json:"duplicated"`
	Reordered  int64   `json:"reordered"`
	Seconds    float64 `json:"seconds"`

	invented int64
}

func summarize(st supervisor.Stats, cfg Config, got *tally) result {
	lost, invented := got.compare(cfg, st.Yielded)
	return result{
		st.Yielded, st.Delivered, st.Filtered, st.Failed, st.Restarts,
		lost, got.duplicated, got.reordered, st.Elapsed.Seconds(), invented,
	}
}

// write writes r for people, or as one JSON object.
func (r result) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	_, err := fmt.Fprintf(w, "yielded %d = delivered %d + filtered %d + failed %d\nrestarts %d, lost %d, duplicated %d, reordered %d, seconds %.2f\n",
		r.Yielded, r.Delivered, r.Filtered, r.Failed, r.Restarts, r.Lost, r.Duplicated, r.Reordered, r.Seconds)
	return err
}

// check says what should not be.
func (r result) check() error {
	switch {
	case r.Yielded != r.Delivered+r.Filtered+r.Failed:
		return fmt.Errorf("the counts do not add up: yielded %d, delivered %d, filtered %d, failed %d", r.Yielded, r.Delivered, r.Filtered, r.Failed)
	case r.Lost > 0 || r.Duplicated > 0 || r.Reordered > 0 || r.invented > 0:
		return fmt.Errorf("the consumer finds %d items lost, %d duplicated, %d reordered, %d that should have failed",
			r.Lost, r.Duplicated, r.Reordered, r.invented)
	}
	return nil
}
