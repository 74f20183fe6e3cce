package stages_test

import (
	"context"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
)

// The 64 MiB that bound the outputs of one FlatMap input also fail a Filter, or a Map with a Timeout, of one item that is
// larger: "too many outputs for one input". A Map without a Timeout lets it through.
func TestOneHugeItemIsNotTooMany(t *testing.T) {
	huge := [][]byte{make([]byte, 64<<20+1)}
	whole := func(_ context.Context, v []byte) ([]byte, error) { return v, nil }
	for name, build := range map[string]func(in stages.Stream[[]byte]) stages.Stream[[]byte]{
		"map": func(in stages.Stream[[]byte]) stages.Stream[[]byte] { return stages.Map(in, "k", whole) },
		"map with a timeout": func(in stages.Stream[[]byte]) stages.Stream[[]byte] {
			return stages.Map(in, "k", whole, stages.Timeout(time.Hour))
		},
		"filter": func(in stages.Stream[[]byte]) stages.Stream[[]byte] {
			return stages.Filter(in, "k", func(context.Context, []byte) (bool, error) { return true, nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newRig(t, huge, build)
			if k.deliver(0, 1); k.work.Err != nil || k.out.Len() != 1 {
				t.Errorf("%d outputs, %v", k.out.Len(), k.work.Err)
			}
		})
	}
}
