package main

import (
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Config is all that the pipeline depends on: it travels to wherever the pipeline runs.
type Config struct {
	Dir        string
	Workers    int // images in work at once
	Batch      int // images per batch
	Epochs     int // passes over the folder
	Ordered    bool
	SkipErrors int // failures that are tolerated, in the whole run
}

// The work on one image is one stage, not a chain of them. So the number of failures that are tolerated is exact,
// because it is a stage's; a file is decoded while it is read, and is never in memory as a whole; and what goes from
// stage to stage is a path and a tensor, which can go to any process, not an image.Image, which cannot.
var loader = stages.Define("imageloader", func(g *stages.Graph, cfg Config) stages.Stream[[]tensor] {
	order := stages.Unordered
	if cfg.Ordered {
		order = stages.Ordered
	}
	paths := stages.Source(g, "list", stages.FromFiles(cfg.Dir, patterns()...), stages.Epochs(cfg.Epochs))
	tensors := stages.MapWith(paths, "load", openDecoder, (*decoder).load,
		stages.Mailbox(cfg.Workers), order, stages.OnError(stages.Skip(cfg.SkipErrors)))
	return stages.Batch(tensors, "batch", cfg.Batch)
})

// patterns match the names of the files that decoder.load can read, in any case: path.Match knows no other way.
func patterns() []string {
	return []string{
		"*.[jJ][pP][gG]", "*.[jJ][pP][eE][gG]", "*.[pP][nN][gG]",
		"*.[gG][iI][fF]", "*.[wW][eE][bB][pP]", "*.[bB][mM][pP]",
	}
}

// finished is how many images are through the stage that does the work, one way or the other.
func finished(st supervisor.Stats) int64 {
	for _, s := range st.Stages {
		if s.Stage == "load" {
			return s.Out + s.Failed
		}
	}
	return 0
}
