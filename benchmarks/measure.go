package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"
)

// A sample is one run of a contender.
type sample struct{ ns, cpu, allocs float64 } // per item

// measure times f, which handles n items, from a clean heap.
func measure(n int, f func() error) (sample, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begun, cpu := time.Now(), cpuTime()
	err := f()
	took, used := time.Since(begun), cpuTime()-cpu
	runtime.ReadMemStats(&after)
	return sample{
		ns: float64(took) / float64(n), cpu: float64(used) / float64(n),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
	}, err
}

// checkItems is how many items a contender is checked with before it is timed.
const checkItems = 1000

// measure checks the contenders and lets them take turns, so that a noisy moment of the machine hits all of them. Every
// round begins with another one.
func (w *work) measure(ctx context.Context, cs []contender, n, rounds int) ([]row, error) {
	few, all := w.want(checkItems), w.want(n)
	for _, c := range cs {
		if _, err := w.run(ctx, c, checkItems, few); err != nil {
			return nil, err
		}
	}
	samples := make([][]sample, len(cs))
	for r := range rounds {
		for i := range cs {
			k := (i + r) % len(cs)
			s, err := w.run(ctx, cs[k], n, all)
			if err != nil {
				return nil, err
			}
			samples[k] = append(samples[k], s)
		}
	}
	base := slices.IndexFunc(cs, func(c contender) bool { return c.name == baseline })
	var rows []row
	for k, c := range cs {
		rows = append(rows, throughput(w.name, c.name, samples[k], samples[base]))
	}
	return rows, nil
}

// run lets c do the work with n items, and checks what came out.
func (w *work) run(ctx context.Context, c contender, n int, want digest) (sample, error) {
	defer watch(w.name, c.name)()
	var got digest
	s, err := measure(n, func() (err error) {
		got, err = c.run(ctx, n)
		return err
	})
	if err == nil {
		err = c.check(got, want)
	}
	if err != nil {
		err = fmt.Errorf("work %s, %s: %w", w.name, c.name, err)
	}
	return s, err
}

// throughput makes a row of the samples of one contender and of the baseline, taken in the same rounds.
func throughput(work, contender string, samples, base []sample) row {
	ns := perItem(samples)
	r := row{
		Work: work, Contender: contender,
		NsPerItem: median(ns), MinNs: slices.Min(ns), MaxNs: slices.Max(ns),
	}
	r.Ratio = r.NsPerItem / median(perItem(base))
	var allocs, cpu, ratios []float64
	for i, s := range samples {
		cpu = append(cpu, s.cpu)
		allocs = append(allocs, s.allocs)
		ratios = append(ratios, s.ns/base[i].ns)
	}
	r.AllocsPerItem, r.CPUNs = median(allocs), median(cpu)
	r.MinRatio, r.MaxRatio = slices.Min(ratios), slices.Max(ratios)
	r.Void = contender == baseline && spread(ns) > maxSpread
	return r
}

func perItem(samples []sample) (ns []float64) {
	for _, s := range samples {
		ns = append(ns, s.ns)
	}
	return ns
}

// maxSpread is how far the rounds of the baseline may be apart. Beyond that the machine was busy with something else,
// and nothing that was measured in between means anything.
const maxSpread = 0.15

// spread is the distance between the largest and the smallest value, as a part of the median.
func spread(values []float64) float64 {
	return (slices.Max(values) - slices.Min(values)) / median(values)
}

// median returns the middle of values, or the mean of the two in the middle.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	k := len(s) / 2
	if len(s)%2 == 1 {
		return s[k]
	}
	return (s[k-1] + s[k]) / 2
}

// percentile returns the value that the part p of values does not exceed: the nearest rank.
func percentile(values []time.Duration, p float64) time.Duration {
	s := slices.Sorted(slices.Values(values))
	k := int(p*float64(len(s))+0.999999) - 1
	return s[min(max(k, 0), len(s)-1)]
}

// patience is how long a contender may take for one round before it counts as hung.
const patience = time.Minute

// watch ends the program, with the stacks of all goroutines, if the function that it returns is not called in time: a
// hang is a result too.
func watch(work, contender string) (done func()) {
	t := time.AfterFunc(patience, func() { hang(os.Stderr, work, contender) })
	return func() { t.Stop() }
}

func hang(w io.Writer, work, contender string) {
	fmt.Fprintf(w, "work %s, %s: hangs: no end after %v\n", work, contender, patience)
	pprof.Lookup("goroutine").WriteTo(w, 2)
	os.Exit(3)
}
