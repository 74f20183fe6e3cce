package shapes

import (
	"context"
	"math/bits"
	"time"

	"github.com/weirflow/weir/stages"
)

// Corpus is the configuration of Buckets.
type Corpus struct {
	Texts []string
	Bytes int // of a batch, at most, if each text were as long as its bucket allows
}

// Buckets makes batches of texts of like length, so that little is lost when they are padded to the longest one: a text
// of n bytes is in the bucket for lengths up to the next power of two. The longer the texts, the fewer are in a batch.
var Buckets = stages.Define("buckets", func(g *stages.Graph, cfg Corpus) stages.Stream[[]string] {
	texts := stages.Source(g, "texts", stages.FromSlice(cfg.Texts))
	return stages.AggregateByKey(texts, "bucket", bucketOf, cfg.openBucket, stages.Groups(16), stages.MaxWait(time.Second))
})

// bucketOf returns the longest length of the bucket that s belongs to.
func bucketOf(s string) int { return 1 << bits.Len(uint(max(len(s), 1)-1)) }

// openBucket opens the aggregator of one key.
func (cfg Corpus) openBucket(_ context.Context, longest int) (*bucket, error) {
	return &bucket{size: max(cfg.Bytes/longest, 1)}, nil
}

// A bucket is a batch that is being filled.
type bucket struct {
	size  int
	texts []string
}

// Process implements stages.Worker.
func (b *bucket) Process(ctx context.Context, s string, emit func([]string) bool) error {
	if b.texts = append(b.texts, s); len(b.texts) == b.size {
		return b.Flush(ctx, emit)
	}
	return nil
}

// Held implements stages.Flusher.
func (b *bucket) Held() int { return len(b.texts) }

// Flush implements stages.Flusher.
func (b *bucket) Flush(_ context.Context, emit func([]string) bool) error {
	emit(b.texts)
	b.texts = nil
	return nil
}
