package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weirflow/weir/supervisor"
)

// A row is what came of one load. As JSON it has exactly these keys, in this order.
type row struct {
	Load  string  `json:"load"`
	Steps int     `json:"steps"`
	P50   float64 `json:"step_p50_us"`
	P99   float64 `json:"step_p99_us"`
	Total float64 `json:"total_seconds"`    // of all steps
	Rate  float64 `json:"items_per_second"` // of the loader, meanwhile
	CPU   float64 `json:"cpu_seconds"`      // of this process and its children, start and end of the loader included
}

// measure runs the loop beside each load.
func measure(ctx context.Context, sup *supervisor.Supervisor, opts options, stderr io.Writer) (all []row, err error) {
	loop := newForeground()
	for _, l := range loads() {
		fmt.Fprintf(stderr, "isolation: %d steps beside %s\n", opts.steps, l.name)
		r, err := beside(ctx, sup, l, loop, opts)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// beside runs the loop beside a load.
func beside(ctx context.Context, sup *supervisor.Supervisor, l load, loop *foreground, opts options) (row, error) {
	r := row{Load: l.name, Steps: opts.steps}
	cpu := cpuTime()
	count, end, err := begin(ctx, sup, l, opts)
	if err != nil {
		return r, err
	}
	items, begun := count(), time.Now()
	took := loop.run(opts.steps)
	total := time.Since(begun)
	items = count() - items
	if err := end(); err != nil {
		return r, err
	}
	r.P50, r.P99 = microseconds(percentile(took, 50)), microseconds(percentile(took, 99))
	r.Total, r.Rate, r.CPU = total.Seconds(), float64(items)/total.Seconds(), (cpuTime() - cpu).Seconds()
	return r, nil
}

// begin starts the loader, and returns when the first item is there, with what counts its items and what ends it.
func begin(ctx context.Context, sup *supervisor.Supervisor, l load, opts options) (count func() int64, end func() error, err error) {
	if l.at == nil {
		return func() int64 { return 0 }, func() error { return context.Cause(ctx) }, nil
	}
	run, err := supervisor.Deploy(ctx, sup, loader.With(Config{opts.workers, blockBytes}), l.at)
	if err != nil {
		return nil, nil, err
	}
	if _, err := run.Next(ctx); err != nil {
		run.Stop()
		return nil, nil, err
	}
	ended := make(chan error, 1)
	// Owner: the caller of begin. Ends with the run, which end stops. end waits for it.
	go func() {
		for _, err := range run.Items(ctx) {
			if err != nil {
				ended <- err
			}
		}
		close(ended)
	}()
	end = func() error {
		hung := run.Stop()
		if err := <-ended; err != nil && !errors.Is(err, supervisor.ErrStopped) {
			return err
		}
		return hung
	}
	return func() int64 { return run.Stats().Outputs }, end, nil
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// report writes the table, or the array.
func report(w io.Writer, all []row, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(all)
	}
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "loader\tstep p50 us\tstep p99 us\ttotal s\tof alone\titems/s\tCPU s\t")
	for _, r := range all {
		fmt.Fprintf(tw, "%s\t%.0f\t%.0f\t%.2f\t%.2f\t%.0f\t%.2f\t\n", r.Load, r.P50, r.P99, r.Total, r.Total/all[0].Total, r.Rate, r.CPU)
	}
	tw.Flush() // an error of a Builder cannot be
	fmt.Fprintf(&b, "\nA step is %v of work and %v of waiting, and what the system adds. Alone, %d of them take %.2f s.\n", work, rest, all[0].Steps, all[0].Total)
	_, err := io.WriteString(w, b.String()+meaning(all))
	return err
}

// meaning says what the figures are.
func meaning(all []row) string {
	slower := func(i int) float64 { return all[i].Total / all[0].Total }
	return fmt.Sprintf(`Beside the loader in the same process they take %.1f times as long: its goroutines and its garbage collector take turns with the loop.
In a child of its own it is %.2f times as long, and %.2f times if that child is nice: the system wakes up what has waited first.
The loader then makes %.0f and %.0f items/s instead of %.0f.
`, slower(1), slower(2), slower(3), all[2].Rate, all[3].Rate, all[1].Rate)
}
