package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/weirflow/weir/supervisor"
)

func main() {
	sup := supervisor.Main(farPipelines()...)
	if len(os.Args) == 2 && os.Args[1] == helloFlag {
		hello()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := command(ctx, sup, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

// A plan is what to measure, and how much of it.
type plan struct {
	works, contenders []string // nil: all
	rounds            int
	quick, json       bool
	profile           string
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (p plan, _ error) {
	f := flag.NewFlagSet("benchmarks", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&p.quick, "quick", false, "fewer items and rounds: less than a minute")
	f.BoolVar(&p.json, "json", false, "print one JSON array instead of tables")
	f.IntVar(&p.rounds, "rounds", 0, "rounds per work (default 7, or 3 with -quick)")
	f.StringVar(&p.profile, "cpuprofile", "", "write a CPU profile to this `file`")
	works := f.String("works", "", "the works to run, of "+strings.Join(workNames(), ",")+" (default all)")
	contenders := f.String("contenders", "", "the contenders, of "+strings.Join(contenderNames(), ",")+" (default all; channels always)")
	if err := f.Parse(args); err != nil {
		return p, err
	}
	if f.NArg() > 0 {
		return p, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if p.rounds == 0 {
		p.rounds = 7
		if p.quick {
			p.rounds = 3
		}
	}
	if p.rounds < 1 {
		return p, fmt.Errorf("%d rounds, want at least 1", p.rounds)
	}
	var err1, err2 error
	p.works, err1 = list("work", *works, workNames())
	p.contenders, err2 = list("contender", *contenders, contenderNames())
	return p, errors.Join(err1, err2)
}

// list splits a flag's value, all parts of which must be known.
func list(what, value string, known []string) ([]string, error) {
	if value == "" {
		return nil, nil
	}
	names := strings.Split(value, ",")
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("unknown %s %q, want some of %s", what, n, strings.Join(known, ","))
		}
	}
	return names, nil
}

func workNames() []string {
	return []string{"a", "b", "c", "d", "e", "wide", "first", "warm", "hop", "slow", "idle",
		"far-ints", "far-structs", "far-64k", "far-1m", "far-first", "far-kill"}
}

func contenderNames() []string {
	names := []string{"weir", baseline, "channels0", "floor", "ideal", sleeps}
	for _, w := range farWorks(nil) {
		for _, c := range w.contenders {
			if !slices.Contains(names, c.name) {
				names = append(names, c.name)
			}
		}
	}
	return names
}

func (p *plan) wants(work string) bool { return p.works == nil || slices.Contains(p.works, work) }

// some returns those of cs that take part.
func some[C any](p *plan, cs []C, name func(C) string) []C {
	return slices.DeleteFunc(slices.Clone(cs), func(c C) bool {
		n := name(c)
		return p.contenders != nil && n != baseline && n != sleeps && n != memcpy && n != rawPair && !slices.Contains(p.contenders, n)
	})
}

func command(ctx context.Context, s *supervisor.Supervisor, args []string, stdout, stderr io.Writer) error {
	p, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if p.profile != "" {
		f, err := os.Create(p.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	rows, failed := p.measure(ctx, s, stderr)
	header(stderr, rows, p.rounds, p.quick)
	write := writeTables
	if p.json {
		write = writeJSON
	}
	return errors.Join(failed, write(stdout, rows))
}

// A task is one work, ready to be measured.
type task struct {
	name, about string
	run         func() ([]row, error)
}

// measure runs the works, and names each on progress as it begins. After an error it returns what it has.
func (p *plan) measure(ctx context.Context, s *supervisor.Supervisor, progress io.Writer) (rows []row, _ error) {
	// The first deployment of a process makes the actor system, which is part of no work.
	if _, err := trivialWeir(s)(ctx, 1); err != nil {
		return nil, err
	}
	for _, t := range p.tasks(ctx, s) {
		if !p.wants(t.name) {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return rows, err
		}
		fmt.Fprintf(progress, "%s: %s\n", t.name, t.about)
		r, err := t.run()
		if rows = append(rows, r...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (p *plan) tasks(ctx context.Context, s *supervisor.Supervisor) (ts []task) {
	part, singles := 1, 1 // what to divide the numbers of items by
	if p.quick {
		part, singles = 4, 2
	}
	for _, w := range works(s) {
		cs := some(p, w.contenders, func(c contender) string { return c.name })
		ts = append(ts, task{w.name, w.about, func() ([]row, error) { return w.measure(ctx, cs, w.items/part, p.rounds) }})
	}
	for _, l := range latencies(s) {
		cs := some(p, l.contenders, func(c sprinter) string { return c.name })
		ts = append(ts, task{l.name, l.about, func() ([]row, error) { return l.measure(ctx, cs, l.items/singles) }})
	}
	slow := some(p, slowContenders(), func(c patient[int]) string { return c.name })
	idle := some(p, idleContenders(), func(c patient[time.Duration]) string { return c.name })
	ts = append(ts,
		task{"slow", "a sink that takes 1 ms per item", func() ([]row, error) {
			return pressure(ctx, s, "slow", slow, 2000/part, p.rounds)
		}},
		task{"idle", "a parked pipeline", func() ([]row, error) {
			return pressure(ctx, s, "idle", idle, time.Second, p.rounds)
		}})
	if runtime.GOOS == "windows" {
		return ts // there are no child processes
	}
	for _, w := range farWorks(s) {
		cs := some(p, w.contenders, func(c farContender) string { return c.name })
		ts = append(ts, task{w.name, w.about, func() ([]row, error) { return w.measure(ctx, cs, w.items/part, p.rounds) }})
	}
	for _, l := range farLatencies(s) {
		ts = append(ts, task{l.name, l.about, func() ([]row, error) { return l.measure(ctx, l.contenders, l.items/singles) }})
	}
	return ts
}
