package headspace

import (
	"errors"
	"fmt"
	"iter"
)

// ErrNoData is what a cache over data without a single item ends with: there is nothing to repeat.
var ErrNoData = errors.New("headspace: the data has no items")

// Replay says what a [Cache] keeps, and from when on it repeats that. Its zero value is not valid: Keep is needed.
type Replay struct {
	Keep  int // items to keep: the first of the data. At least 1
	After int // items to hand on from the data before it is left and the kept ones are repeated; 0 means Keep. At least Keep
	Stop  int // items in all, then the cache ends; 0 means never. At least After
}

// check returns what is wrong with r, with After filled in.
func (r Replay) check() (Replay, error) {
	if r.After == 0 {
		r.After = r.Keep
	}
	switch {
	case r.Keep < 1:
		return r, fmt.Errorf("headspace: Keep is %d, and must be at least 1", r.Keep)
	case r.After < r.Keep:
		return r, fmt.Errorf("headspace: After is %d, less than the %d items to keep", r.After, r.Keep)
	case r.Stop != 0 && r.Stop < r.After:
		return r, fmt.Errorf("headspace: Stop is %d, less than the %d items that come from the data", r.Stop, r.After)
	}
	return r, nil
}

// Cache hands data on, keeps its first items, and after r.After items repeats those, in their order, for as long as it is asked.
// So what stands behind it shows its own speed. The loop over data is left before the first repeated item, which
// ends what feeds it: a run that Items was called on has stopped, and takes no core any more. That may take a moment, and the
// loop behind waits for it.
//
// Data that ends before that has been read to its end: what there is of it is repeated. Data without any item gives
// [ErrNoData]; if it fails, so does the cache, with the same error and without repeating anything. Mistakes in r are the only turn
// of the loop. An error is always the last turn.
//
// Items are repeated as they are. A loop that changes them sees its changes again; one that releases what
// they refer to (codecs.View) must not be given a cache.
func Cache[T any](data iter.Seq2[T, error], r Replay) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		r, err := r.check()
		if err != nil {
			yield(zero, err)
			return
		}
		kept := make([]T, 0, min(r.Keep, 1024))
		seen := 0
		for v, err := range data {
			if err != nil {
				yield(zero, err)
				return
			}
			if len(kept) < r.Keep {
				kept = append(kept, v)
			}
			if !yield(v, nil) {
				return
			}
			if seen++; seen == r.After {
				break
			}
		}
		if seen == 0 {
			yield(zero, ErrNoData)
			return
		}
		for i := 0; r.Stop == 0 || seen < r.Stop; i++ {
			if !yield(kept[i%len(kept)], nil) {
				return
			}
			seen++
		}
	}
}
