// Command isolation measures what a loader does to a loop that must wake up on time.
//
//	go run ./examples/isolation            # about a minute if the machine is idle, and more if it is not
//	go run ./examples/isolation -json      # one array, for the next program
//
// The loop takes steps of 100 us of work and 300 us of waiting, like one that launches the kernels of a GPU. It does so four
// times: alone; beside a loader in the same process; beside the same loader in a child process; and beside one in a child
// that leaves the processors to others when they want them. The loader decompresses blocks of 2 MiB, as fast as it is let;
// the one word that changes is its placement.
//
// # What it means
//
// In one process the loop waits for the loader's goroutines: Go's scheduler gives each of them its turn, of up to 10 ms, and
// the garbage collector works for all of them. So a step takes many times as long as it does alone, and a GPU would idle
// meanwhile. In a child of its own the loader has its own scheduler and its own heap, and whose turn it is on a processor is
// decided by the operating system, which lets what has waited go first. The price is in the other columns: items per second that
// the loader still makes, and the processor time of both, children included.
//
// # Flags
//
//	-steps n    steps that the loop takes each time (6000)
//	-workers n  blocks that the loader decompresses at once (4)
//	-json       print an array with one object for each load, of the keys load (none, inprocess, subprocess, subprocess-nice),
//	            steps, step_p50_us, step_p99_us, total_seconds, items_per_second, cpu_seconds
//
// The table goes to the standard output, progress to the standard error. The exit status is 0, 1 if a run failed, and 2 for a
// mistake in the command line.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/weirflow/weir/supervisor"
)

func main() {
	sup := supervisor.Main(loader)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(command(ctx, sup, os.Args[1:], os.Stdout, os.Stderr))
}

// A load is what the loop has beside it.
type load struct {
	name string
	at   supervisor.Placement // nil: nothing
}

// loads are the four, in the order in which they are measured.
func loads() []load {
	return []load{
		{"none", nil},
		{"inprocess", supervisor.InProcess{}},
		{"subprocess", supervisor.Subprocess{}},
		{"subprocess-nice", supervisor.Subprocess{Nice: 19}},
	}
}

// command is main without the process around it: it returns the exit status.
func command(ctx context.Context, sup *supervisor.Supervisor, args []string, stdout, stderr io.Writer) int {
	var opts options
	fs := flags(&opts)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fs.SetOutput(stdout)
		fs.Usage()
		return 0
	}
	if err == nil {
		err = opts.validate(fs.Args())
	}
	if err != nil {
		fmt.Fprintln(stderr, "isolation:", err)
		return 2
	}
	all, err := measure(ctx, sup, opts, stderr)
	if err == nil {
		err = report(stdout, all, opts.json)
	}
	if err != nil {
		fmt.Fprintln(stderr, "isolation:", err)
		return 1
	}
	return 0
}

type options struct {
	steps, workers int
	json           bool
}

func flags(opts *options) *flag.FlagSet {
	fs := flag.NewFlagSet("isolation", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // its errors come with the whole usage
	fs.IntVar(&opts.steps, "steps", 6000, "steps that the loop takes each time")
	fs.IntVar(&opts.workers, "workers", 4, "blocks that the loader decompresses at once")
	fs.BoolVar(&opts.json, "json", false, "print an array instead of the table")
	return fs
}

func (o options) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.steps < 1:
		return fmt.Errorf("-steps %d: want at least 1", o.steps)
	case o.workers < 1 || o.workers > 1024:
		return fmt.Errorf("-workers %d: want 1 to 1024", o.workers)
	}
	return nil
}
