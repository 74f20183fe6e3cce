package supervisor_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// batched is a pipeline with something of everything that a region with sources can have.
var batched = stages.Define("batched", func(g *stages.Graph, cfg span) stages.Stream[[]int] {
	s := stages.Source(g, "ints", ints(cfg.N))
	s = stages.Map(s, "work", func(_ context.Context, v int) (int, error) {
		for begun := time.Now(); time.Since(begun) < 20*time.Microsecond; {
		}
		return v, nil
	}, stages.Mailbox(cfg.Workers), stages.Ordered)
	s = stages.Filter(s, "odd", func(_ context.Context, v int) (bool, error) { return v%2 == 1, nil })
	return stages.Batch(s, "batch", 7)
})

// childrenOf returns the processes of which this one is the parent.
func childrenOf(t *testing.T, pid int) (all []int) {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range stats {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // it is gone
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) && fields[0] != "Z" {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			all = append(all, n)
		}
	}
	return all
}

func TestWhatAKilledChildHadComesOnce(t *testing.T) {
	const n = 20_000
	sup := children.With(supervisor.Config{MaxDeaths: 1000, Restart: stages.Restart{Max: 1000, First: time.Microsecond, Pause: time.Microsecond}})
	run, err := supervisor.Deploy(t.Context(), sup, batched.With(span{n, 4}), supervisor.Subprocess{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	kills := 0
	for b, err := range run.Items(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, b...); len(got) > (kills+1)*n/40 {
			for _, pid := range childrenOf(t, os.Getpid()) {
				syscall.Kill(pid, syscall.SIGKILL)
				kills++
			}
		}
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	t.Log(kills, run.Stats())
	if len(got) != n/2 || !slices.IsSorted(got) {
		t.Errorf("%d items, want %d; in order: %v", len(got), n/2, slices.IsSorted(got))
	}
	for i, v := range got {
		if v != 2*i+1 {
			t.Fatalf("item %d is %d", i, v)
		}
	}
}
