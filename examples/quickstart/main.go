// Command quickstart is the program of the README: it adds up the sizes of the Go files below the current folder.
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
	paths := stages.Source(g, "list", stages.FromFiles(cfg.Dir, "*.go"))
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
	files, bytes := 0, int64(0)
	for batch, err := range supervisor.Items(context.Background(), sup, pipeline, supervisor.InProcess{}) {
		if err != nil {
			log.Fatal(err) // always the loop's last turn: there is nothing to check after it
		}
		files += len(batch)
		for _, n := range batch {
			bytes += n
		}
	}
	fmt.Println(files, "files of Go have", bytes, "bytes")
}
