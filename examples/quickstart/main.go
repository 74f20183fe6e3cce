// Command quickstart is the program of the README: it prints the sizes of the files below the current folder, 32 at a
// time.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Config travels with the pipeline.
type Config struct{ Dir string }

// What flows. Not where.
var sizes = stages.Define("sizes", func(g *stages.Graph, cfg Config) stages.Stream[[]int64] {
	paths := stages.Source(g, "list", stages.FromFiles(cfg.Dir))
	sizes := stages.Map(paths, "stat", size, stages.Mailbox(8), stages.Ordered, stages.OnError(stages.Skip(100)))
	return stages.Batch(sizes, "batch", 32)
})

func size(ctx context.Context, path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func main() {
	sup := supervisor.Main(sizes)
	pipeline := sizes.With(Config{Dir: "."})
	for batch, err := range supervisor.Items(context.Background(), sup, pipeline, supervisor.InProcess{}) {
		if err != nil {
			log.Fatal(err) // always the loop's last turn: there is nothing to check after it
		}
		fmt.Println(batch)
	}
}
