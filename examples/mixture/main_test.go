package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

// The mixture is drawn from the seed: this is what everybody sees.
func Example() {
	err := train(context.Background(), supervisor.New(supervisor.Config{}), settings(0, 1), 3, os.Stdout)
	fmt.Println(err)
	// Output:
	// epoch 0: 31 batches, samples of map[books:194 code:94 web:704]
	// epoch 1: 31 batches, samples of map[books:201 code:98 web:693]
	// epoch 2: 31 batches, samples of map[books:214 code:108 web:670]
	// <nil>
}

// samples are those of the first epochs.
func samples(t *testing.T, cfg Config, epochs int) (all [][]Sample) {
	t.Helper()
	run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), mixture.With(cfg), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Stop()
	for epoch, batches := range run.Epochs(t.Context()) {
		var these []Sample
		for batch, err := range batches {
			if err != nil {
				t.Fatal(err)
			}
			if len(batch) != cfg.Batch {
				t.Errorf("a batch of %d", len(batch))
			}
			these = append(these, batch...)
		}
		all = append(all, these)
		if epoch == epochs-1 {
			break
		}
	}
	return all
}

func TestAnEpochHasSoManySamplesInFullBatches(t *testing.T) {
	cfg := Config{Sets: makeSets(), Seed: 7, World: 1, EpochItems: 500, Batch: 32}
	for epoch, s := range samples(t, cfg, 4) {
		if len(s) != 480 { // 15 batches; 20 samples are too few for another one
			t.Errorf("epoch %d: %d samples, want 480", epoch, len(s))
		}
	}
}

func TestTheProportionsAreThoseOfTheWeights(t *testing.T) {
	cfg := Config{Sets: makeSets(), Seed: 7, World: 1, EpochItems: 10_000, Batch: 100}
	of := map[string]int{}
	for _, s := range samples(t, cfg, 1)[0] {
		of[s.Set]++
	}
	for _, set := range cfg.Sets {
		if want := set.Weight * 10_000; float64(of[set.Name]) < want-150 || float64(of[set.Name]) > want+150 {
			t.Errorf("%d samples of %s, want about %v", of[set.Name], set.Name, want)
		}
	}
}

func TestTheSameSeedDrawsTheSameSamples(t *testing.T) {
	cfg := Config{Sets: makeSets(), Seed: 7, World: 1, EpochItems: 600, Batch: 20}
	a, b := samples(t, cfg, 3), samples(t, cfg, 3)
	cfg.Seed = 8
	c := samples(t, cfg, 3)
	for epoch := range a {
		if !slices.Equal(a[epoch], b[epoch]) {
			t.Errorf("epoch %d is another one the second time", epoch)
		}
		if slices.Equal(a[epoch], c[epoch]) {
			t.Errorf("epoch %d is the same with another seed", epoch)
		}
	}
	if slices.Equal(a[0], a[1]) {
		t.Error("the second epoch is the first one again")
	}
}

// Of each set, a rank sees each file of its share once before it sees one again, and no file of another rank.
func TestRanksShareTheSets(t *testing.T) {
	cfg := Config{Sets: []Set{makeSets()[0]}, Seed: 7, World: 4, EpochItems: 500, Batch: 20} // 2000 files: 500 per rank
	seen := map[string]int{}
	for cfg.Rank = range cfg.World {
		for _, s := range samples(t, cfg, 1)[0] {
			seen[s.File]++
		}
	}
	if len(seen) != 2000 {
		t.Errorf("%d files seen, want 2000", len(seen))
	}
	for file, n := range seen {
		if n != 1 {
			t.Errorf("%s was seen %d times", file, n)
		}
	}
}

func TestALoopThatIsLeftEndsTheRun(t *testing.T) {
	sup := supervisor.New(supervisor.Config{})
	cfg := Config{Sets: makeSets(), Seed: 1, World: 1, EpochItems: 100, Batch: 10}
	if err := train(t.Context(), sup, cfg, 1, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if runs := sup.Runs(); len(runs) != 0 {
		t.Errorf("%v still run", runs)
	}
}
