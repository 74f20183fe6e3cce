package supervisor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// The programs that docs/migrating.md shows.

// A sample stands for what is loaded from a file.
type sample string

func loadSample(_ context.Context, path string) (sample, error) { return sample("<" + path + ">"), nil }

func Example_fromSPDL() {
	loader := stages.Define("loader", func(g *stages.Graph, paths []string) stages.Stream[[]sample] {
		files := stages.Source(g, "files", stages.FromSlice(paths))
		samples := stages.Map(files, "load", loadSample, stages.Mailbox(8), stages.Ordered)
		return stages.Batch(samples, "batch", 2)
	})
	sup := supervisor.New(supervisor.Config{})
	for batch, err := range supervisor.Items(context.Background(), sup, loader.With([]string{"a", "b", "c"}), nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch)
	}
	// Output:
	// [<a> <b>]
	// [<c>]
}

func Example_fromDataLoader() {
	loader := stages.Define("loader", func(g *stages.Graph, paths []string) stages.Stream[[]sample] {
		files := stages.Source(g, "files", stages.Shuffled(paths, 42), stages.Epochs(3))
		samples := stages.Map(files, "load", loadSample, stages.Mailbox(8), stages.Ordered)
		return stages.Batch(samples, "batch", 2, stages.DropLast)
	})
	ctx := context.Background()
	run, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), loader.With([]string{"a", "b", "c"}), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	for epoch, batches := range run.Epochs(ctx) {
		for batch, err := range batches {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(epoch, batch)
		}
	}
	// Output:
	// 0 [<c> <a>]
	// 1 [<a> <c>]
	// 2 [<a> <c>]
}

func Example_fromTFData() {
	type Config struct{ Web, Books []string }
	cfg := Config{Web: []string{"w1", "w2", "w3"}, Books: []string{"b1", "b2"}}
	mixture := stages.Define("mixture", func(g *stages.Graph, cfg Config) stages.Stream[[]sample] {
		web := stages.Source(g, "web", stages.FromSlice(cfg.Web), stages.Forever)
		books := stages.Source(g, "books", stages.FromSlice(cfg.Books), stages.Forever)
		paths := stages.Merge("mix", stages.Weighted{Weights: []float64{0.7, 0.3}, Seed: 1, EpochItems: 8}, web, books)
		samples := stages.Map(paths, "load", loadSample, stages.Mailbox(8), stages.Ordered)
		return stages.Batch(samples, "batch", 4)
	})
	n := 0
	for batch, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), mixture.With(cfg), nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch)
		if n++; n == 2 {
			break
		}
	}
	// Output:
	// [<w1> <w2> <b1> <w3>]
	// [<b2> <w1> <b1> <w2>]
}

type user struct{ ID int }

func getUser(_ context.Context, id int) (user, error) { return user{id}, nil }

func saveUsers(_ context.Context, users []user) (int, error) { return len(users), nil }

func Example_fromRill() {
	ids := make([]int, 12)
	saved := stages.Define("users", func(g *stages.Graph, ids []int) stages.Stream[int] {
		source := stages.Source(g, "ids", stages.FromSlice(ids))
		users := stages.Map(source, "get", getUser, stages.Mailbox(3))
		batches := stages.Batch(users, "batch", 5, stages.MaxWait(time.Second))
		return stages.Map(batches, "save", saveUsers, stages.Mailbox(2))
	})
	total := 0
	for n, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), saved.With(ids), nil) {
		if err != nil {
			fmt.Println(err) // the first failure, with the stage and the item
			return
		}
		total += n
	}
	fmt.Println("saved", total)
	// Output: saved 12
}
