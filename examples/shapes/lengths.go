package shapes

import (
	"context"

	"github.com/weirflow/weir/stages"
)

// Lengths is the configuration of Embeddings.
type Lengths struct {
	Texts []string
	Batch int
	Long  int // texts of so many bytes are long
}

// An Embedding is what a model makes of a text. Padded is how long the longest text was of those that went through the
// model with it.
type Embedding struct {
	Text   string
	Padded int
}

// Embeddings splits each batch by length, so that short texts are not padded to the longest, and puts it together again:
// batches come out as they went in, with the texts in their places.
var Embeddings = stages.Define("embeddings", func(g *stages.Graph, cfg Lengths) stages.Stream[[]Embedding] {
	texts := stages.Batch(stages.Source(g, "texts", stages.FromSlice(cfg.Texts)), "batch", cfg.Batch)
	parts := stages.RouteBatch(texts, "by length", 2, cfg.split)
	short := stages.Map(parts[0], "short", embed, stages.Mailbox(2))
	long := stages.Map(parts[1], "long", embed, stages.Mailbox(4))
	return stages.Rejoin("whole", short, long)
})

// split returns the branch of each text of the batch.
func (cfg Lengths) split(_ context.Context, texts []string) ([]int, error) {
	to := make([]int, len(texts))
	for i, s := range texts {
		if len(s) >= cfg.Long {
			to[i] = 1
		}
	}
	return to, nil
}

// embed stands for a model that takes a batch. It returns as many results as it is given texts: Rejoin needs that.
func embed(_ context.Context, texts []string) ([]Embedding, error) {
	longest := 0
	for _, s := range texts {
		longest = max(longest, len(s))
	}
	out := make([]Embedding, len(texts))
	for i, s := range texts {
		out[i] = Embedding{s, longest}
	}
	return out, nil
}
