// Command tokenize feeds a training with batches of tokens. It makes up some shards of documents, and takes as many
// steps as it is told to, or as there are batches.
//
//	go run ./examples/tokenize
//	go run ./examples/tokenize -steps 5
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/weirflow/weir/examples/tokenize/tokens"
	"github.com/weirflow/weir/supervisor"
)

func main() {
	sup := supervisor.Main(tokens.Pipeline)
	steps := flag.Int("steps", 20, "`number` of steps, at most")
	flag.Parse()
	if err := command(context.Background(), sup, *steps, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func command(ctx context.Context, sup *supervisor.Supervisor, steps int, w io.Writer) error {
	dir, err := os.MkdirTemp("", "tokenize")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	shards, err := tokens.WriteShards(dir, 8, 250)
	if err != nil {
		return err
	}
	return train(ctx, sup, tokens.Config{Shards: shards, Seed: 1, Words: 1 << 15, MaxTokens: 4096}, steps, w)
}

func train(ctx context.Context, sup *supervisor.Supervisor, cfg tokens.Config, steps int, w io.Writer) error {
	run, err := supervisor.Deploy(ctx, sup, tokens.Pipeline.With(cfg), supervisor.InProcess{})
	if err != nil {
		return err
	}
	defer run.Stop()

	step, docs, total := 0, 0, 0
	for batch, err := range run.Items(ctx) {
		if err != nil {
			return err
		}
		step++
		docs += len(batch)
		for _, t := range batch {
			total += len(t.Tokens)
		}
		if step == steps {
			break
		}
	}
	fmt.Fprintf(w, "%d steps, %d documents, %d tokens\n", step, docs, total)
	return nil
}
