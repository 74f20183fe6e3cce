// Command mixture draws training batches from several data sets in given proportions, epoch by epoch. Each of the
// training's processes runs it with a rank of its own, and gets other samples.
//
//	go run ./examples/mixture
//	go run ./examples/mixture -rank 1 -world 4
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A Set is a data set, with its part in the mixture.
type Set struct {
	Name   string
	Files  []string
	Weight float64
}

// Config is what the pipeline depends on.
type Config struct {
	Sets        []Set
	Seed        uint64
	Rank, World int   // this process, of so many
	EpochItems  int64 // samples in an epoch of the mixture
	Batch       int
}

// A Sample is what the training works on.
type Sample struct{ Set, File string }

// Each set is endless: it begins again, in another order, when it is through. An epoch is an epoch of the mixture.
var mixture = stages.Define("mixture", func(g *stages.Graph, cfg Config) stages.Stream[[]Sample] {
	var sets []stages.Stream[Sample]
	var weights []float64
	for _, set := range cfg.Sets {
		files := stages.Shard(stages.Shuffled(set.Files, cfg.Seed), cfg.Rank, cfg.World)
		paths := stages.Source(g, set.Name, files, stages.Forever)
		sets = append(sets, stages.Map(paths, set.Name+"/load", set.load, stages.Mailbox(4), stages.Ordered))
		weights = append(weights, set.Weight)
	}
	mixed := stages.Merge("mix", stages.Weighted{Weights: weights, Seed: cfg.Seed, EpochItems: cfg.EpochItems}, sets...)
	return stages.Batch(mixed, "batch", cfg.Batch, stages.DropLast)
})

// load stands for reading and decoding. It is a method of what travels with the pipeline, not a closure over what does
// not.
func (s Set) load(_ context.Context, file string) (Sample, error) { return Sample{s.Name, file}, nil }

func main() {
	sup := supervisor.Main(mixture)
	rank, world := flag.Int("rank", 0, "`number` of this process"), flag.Int("world", 1, "`number` of processes")
	flag.Parse()
	if err := train(context.Background(), sup, settings(*rank, *world), 3, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func settings(rank, world int) Config {
	return Config{Sets: makeSets(), Seed: 1, Rank: rank, World: world, EpochItems: 1000, Batch: 32}
}

// makeSets makes up three sets. The smallest is seen more than once per epoch.
func makeSets() (sets []Set) {
	for _, s := range []struct {
		name   string
		files  int
		weight float64
	}{{"web", 2000, 0.7}, {"books", 400, 0.2}, {"code", 50, 0.1}} {
		set := Set{Name: s.name, Weight: s.weight}
		for i := range s.files {
			set.Files = append(set.Files, fmt.Sprintf("%s/%04d", s.name, i))
		}
		sets = append(sets, set)
	}
	return sets
}

func train(ctx context.Context, sup *supervisor.Supervisor, cfg Config, epochs int, w io.Writer) error {
	run, err := supervisor.Deploy(ctx, sup, mixture.With(cfg), supervisor.InProcess{})
	if err != nil {
		return err
	}
	defer run.Stop()
	for epoch, batches := range run.Epochs(ctx) {
		n, of := 0, map[string]int{}
		for batch, err := range batches {
			if err != nil {
				return err
			}
			n++ // a step of the training
			for _, sample := range batch {
				of[sample.Set]++
			}
		}
		fmt.Fprintf(w, "epoch %d: %d batches, samples of %v\n", epoch, n, of)
		if epoch == epochs-1 {
			break // ends the run: the sets would go on for ever
		}
	}
	return nil
}
