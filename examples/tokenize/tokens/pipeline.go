// Package tokens is a pipeline that makes training batches of tokens out of shards of documents. It is a package of its
// own, so that any program can import it: the one that trains, and one that shall run a part of the pipeline elsewhere.
package tokens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/weirflow/weir/examples/dedupe"
	"github.com/weirflow/weir/stages"
)

// Config is what the pipeline depends on.
type Config struct {
	Shards    []string // files of JSON documents, one after the other
	Seed      uint64   // of the order of the shards
	Words     int      // size of the vocabulary
	MaxTokens int      // in a batch
}

// A Doc is a document.
type Doc struct{ ID, Kind, Text string }

// Tokens are what became of one.
type Tokens struct {
	ID     string
	Tokens []int32
}

// The kinds of documents, each with a way of its own through the pipeline.
const (
	prose = iota
	code
	table
	kinds
)

// Pipeline packs documents into batches of at most MaxTokens tokens. The batches depend on the Config alone: whatever is
// done by several workers is put back into order.
var Pipeline = stages.Define("tokens", func(g *stages.Graph, cfg Config) stages.Stream[[]Tokens] {
	shards := stages.Source(g, "shards", stages.Shuffled(cfg.Shards, cfg.Seed))
	docs := stages.FlatMap(shards, "read", read, stages.Mailbox(2), stages.Ordered, stages.Streaming)
	fresh := dedupe.Dedupe(docs, "dedupe", 1<<20)

	by := stages.Route(fresh, "kind", kinds, kindOf)
	p := stages.MapWith(by[prose], "prose", cfg.openTokenizer, (*tokenizer).words, stages.Mailbox(4))
	bare := stages.Map(by[code], "strip", stripLicence)
	c := stages.MapWith(bare, "code", cfg.openTokenizer, (*tokenizer).symbols, stages.Mailbox(2))
	t := stages.MapWith(by[table], "table", cfg.openTokenizer, (*tokenizer).cells)
	all := stages.Merge("tokens", stages.InputOrder{}, p, c, t)

	return stages.BatchBySize(all, "pack", cfg.MaxTokens, func(t Tokens) int { return len(t.Tokens) }, stages.DropLast)
})

// read yields the documents of a shard as they are read: it never has more than one in memory.
func read(_ context.Context, path string) iter.Seq2[Doc, error] {
	return func(yield func(Doc, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Doc{}, err)
			return
		}
		defer f.Close()
		for in := json.NewDecoder(f); ; {
			var d Doc
			switch err := in.Decode(&d); {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Doc{}, fmt.Errorf("%s: %w", path, err))
				return
			case !yield(d, nil):
				return
			}
		}
	}
}

func kindOf(_ context.Context, d Doc) (int, error) {
	switch d.Kind {
	case "prose":
		return prose, nil
	case "code":
		return code, nil
	case "table":
		return table, nil
	}
	return 0, fmt.Errorf("document %s is of an unknown kind, %q", d.ID, d.Kind)
}
