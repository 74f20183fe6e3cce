package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A farWork is a work of which a part is done by another process.
type farWork struct {
	name, about string
	items       int // in a full run
	bytes       int // of a block; 0: none
	base        string
	contenders  []farContender
}

// A farContender is one way of getting n items here from somewhere else. It checks what comes.
type farContender struct {
	name string
	run  func(ctx context.Context, n int) (farSample, error)
}

// A farSample is one run.
type farSample struct {
	took time.Duration // from the first items on: see pacer
	cpu  time.Duration // of this process and its children, from their start on
	full int64         // blocks for which there was no room in shared memory
}

// A pacer is the time that n items take, but for the first few: the start of a process is no part of it, and shared memory has its
// pages then.
type pacer struct {
	n, skip, count int
	begun          time.Time
}

func pace(n int) *pacer { return &pacer{n: n, skip: min(n/10, 200)} }

// item is called when an item is there.
func (p *pacer) item() {
	if p.count == p.skip {
		p.begun = time.Now()
	}
	p.count++
}

// took is the time of all of them, at the pace of those that were timed.
func (p *pacer) took() time.Duration {
	return time.Since(p.begun) * time.Duration(p.n) / time.Duration(max(p.n-p.skip-1, 1))
}

// Baselines of works across processes.
const (
	rawPair = "socketpair" // the same bytes through a pair of sockets, 64 items at a time, and nothing else
	memcpy  = "memcpy"     // the same bytes from heap to heap, into as many blocks as are out
)

const kib = 1 << 10

func farWorks(s *supervisor.Supervisor) []farWork {
	child := supervisor.Subprocess{}
	there := supervisor.Regions{{From: "there", On: child}}
	return []farWork{
		{"far-ints", "ints out of a graph that is in a child", 1_000_000, 0, rawPair, []farContender{
			{"stream", fromChild(s, farInts(), child, 0, 0, func(v int) int { return v })},
			{rawPair, throughSockets(8)},
		}},
		{"far-structs", "structs of 100 bytes, out of a graph in a child, and to a stage in a child and back", 400_000, 0, rawPair, []farContender{
			{"stream", fromChild(s, farRecords(), child, 0, 0, record.number)},
			{"typed stream", fromChild(s, farCoded(), child, 0, 0, coded.number)},
			{"both ways", fromChild(s, farRecords(), there, 0, 0, record.number)},
			{"typed both ways", fromChild(s, farCoded(), there, 0, 0, coded.number)},
			{rawPair, throughSockets(recordBytes)},
		}},
		farBlocks(s, "far-64k", 64*kib, 32, 16_000),
		farBlocks(s, "far-1m", 1024*kib, 16, 3_000),
	}
}

// farBlocks is a work with blocks, of which out may be on the way.
func farBlocks(s *supervisor.Supervisor, name string, size, out, items int) farWork {
	child := supervisor.Subprocess{}
	there := supervisor.Regions{{From: "there", On: child}}
	copied := func(at supervisor.Placement) func(context.Context, int) (farSample, error) {
		return fromChild(s, farCopies(), at, size, out, func(b []byte) int { return numberOf(b) })
	}
	viewed := func(at supervisor.Placement) func(context.Context, int) (farSample, error) {
		return fromChild(s, farViews(), at, size, out, func(v stages.View) int {
			defer v.Release()
			return numberOf(v.Bytes())
		})
	}
	return farWork{name, fmt.Sprintf("blocks of %d KiB out of a child, %d out", size/kib, out), items, size, memcpy, []farContender{
		{"copy", copied(there)},
		{"copy + heap", besides(64<<20, copied(there))},
		{"view", viewed(there)},
		{"stream copy", copied(child)},
		{"stream view", viewed(child)},
		{"link copy", overLink(size, out, linkCopy)},
		{"link view", overLink(size, out, linkView)},
		{"link in place", overLink(size, out, linkInPlace)},
		{rawPair, throughSockets(size)},
		{"clone", cloned(size, out)},
		{memcpy, copiedHere(size, out)},
	}}
}

// fromChild takes the items of a pipeline, and checks the sum of their numbers: 0 to n-1, or, of blocks, those again and again.
func fromChild[T any](s *supervisor.Supervisor, d *stages.Definition[cargo, T], at supervisor.Placement, size, out int, number func(T) int) func(context.Context, int) (farSample, error) {
	return func(ctx context.Context, n int) (m farSample, _ error) {
		different := 0
		if size > 0 {
			different = blocksThere
		}
		cpu := cpuTime()
		run, err := supervisor.Deploy(ctx, s, d.With(cargo{Items: n, Bytes: size, Ahead: out}), at)
		if err != nil {
			return m, err
		}
		defer run.Stop()
		pacer, sum := pace(n), 0
		for v, err := range run.Items(ctx) {
			if err != nil {
				return m, err
			}
			pacer.item()
			sum += number(v)
		}
		m.took = pacer.took()
		err = run.Stop()
		m.cpu = cpuTime() - cpu
		for _, node := range run.Stats().Nodes {
			m.full += node.ArenaFull
		}
		return m, errors.Join(err, checkSum(pacer.count, sum, n, different))
	}
}

// checkSum compares the sum of numbers with that of 0 to n-1, each modulo what there is of them; 0: all are different.
func checkSum(count, sum, n, different int) error {
	want := n * (n - 1) / 2
	if different > 0 {
		rest := n % different
		want = n/different*(different*(different-1)/2) + rest*(rest-1)/2
	}
	if count != n || sum != want {
		return fmt.Errorf("%d items with a sum of %d, want %d with %d", count, sum, n, want)
	}
	return nil
}

// besides runs a contender in a program that has something else in its heap.
func besides(bytes int, run func(context.Context, int) (farSample, error)) func(context.Context, int) (farSample, error) {
	return func(ctx context.Context, n int) (farSample, error) {
		other := make([]*[4096]byte, bytes/4096)
		for i := range other {
			other[i] = new([4096]byte)
		}
		m, err := run(ctx, n)
		other[n%len(other)][0] = 1 // it was there all the time
		return m, err
	}
}

// fewItems are hardly more than the start of a process.
const fewItems = 10

// measure lets the contenders take turns.
func (w *farWork) measure(ctx context.Context, cs []farContender, n, rounds int) ([]row, error) {
	samples := make([][]sample, len(cs))
	full := make([]int64, len(cs))
	starts := make([]time.Duration, len(cs)) // processor time that is spent however many items there are
	var absent []string
	for k, c := range cs {
		if m, err := c.run(ctx, fewItems); err == nil { // else the first round tells
			starts[k] = m.cpu
		}
	}
	for r := range rounds {
		for i := range cs {
			k := (i + r) % len(cs)
			if slices.Contains(absent, cs[k].name) {
				continue
			}
			done := watch(w.name, cs[k].name)
			var m farSample
			s, err := measure(n, func() (err error) {
				m, err = cs[k].run(ctx, n)
				return err
			})
			done()
			if errors.Is(err, errors.ErrUnsupported) {
				absent = append(absent, cs[k].name)
				fmt.Fprintf(os.Stderr, "%s: %s: not on this system: %v\n", w.name, cs[k].name, err)
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("work %s, %s: %w", w.name, cs[k].name, err)
			}
			s.ns, s.cpu = float64(m.took)/float64(n), float64(max(m.cpu-starts[k], 0))/float64(n)
			samples[k] = append(samples[k], s)
			full[k] += m.full
		}
	}
	base := slices.IndexFunc(cs, func(c farContender) bool { return c.name == w.base })
	var rows []row
	for k, c := range cs {
		if samples[k] == nil {
			continue
		}
		row := throughput(w.name, c.name, samples[k], samples[base])
		row.Base, row.Void = w.base, c.name == w.base && row.Void
		row.ArenaFull = float64(full[k]) / float64(rounds*n)
		rows = append(rows, row)
	}
	return rows, nil
}
