// Command restart shows that a stage which panics again and again loses nothing: its workers are restarted, and the items
// that they had are neither lost nor delivered twice, nor do they come in another order.
//
//	go run ./examples/restart
//	go run ./examples/restart -items 5000000 -panic-every 100  # long enough to watch
//	go run ./examples/restart -json                            # one object, for the next program
//
// The pipeline counts from 1, decodes, which fails for some numbers, and hands the others to a stage that panics at some,
// when it sees them for the first time. The consumer notes which numbers come, and compares them at the end with those
// that should have: so what it says of lost items is not what the run says of itself.
//
// # Flags
//
//	-items n         how many items there are (100000)
//	-panic-every n   a worker panics at each n-th item, once (13); 0: never
//	-fail-every n    each n-th item cannot be decoded (1501); 0: none. More than one in twenty fail the run.
//	-placement p     where the stages run: inprocess
//	-json            print one JSON object instead of two lines
//
// # Output
//
// The standard output is the result. With -json it is exactly one object with the keys yielded, delivered, filtered,
// failed, restarts, lost, duplicated, reordered, seconds. The live view is on the standard error: items, failures,
// restarts and the cause of the last, as one line that changes if that is a terminal, else as a line every second; and a
// last one at the end.
//
// The first Ctrl-C ends the count here: what was begun is finished and summed up. A second one kills the program. The
// exit status is 0 after a complete or drained run, 1 after one that failed, or in which something was lost, duplicated
// or reordered, with a line that says so, and 2 for a mistake in the command line.
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
	sup := supervisor.Main(shaky)
	interrupt, again := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(interrupt, again) // the second one does what it always does
	os.Exit(command(interrupt, sup, os.Args[1:], os.Stdout, screen(os.Stderr)))
}

// command is main without the process around it: it returns the exit status. The end of interrupt ends the count.
func command(interrupt context.Context, sup *supervisor.Supervisor, args []string, stdout, stderr io.Writer) int {
	opts, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage())
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "restart:", err)
		return 2
	}
	r, err := shake(interrupt, sup, opts, stderr)
	if err == nil {
		err = r.write(stdout, opts.json)
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		fmt.Fprintln(stderr, "restart:", err)
		return 1
	}
	return 0
}

// shake runs the pipeline, shows on stderr how it is doing, and returns what came of it.
func shake(interrupt context.Context, sup *supervisor.Supervisor, opts options, stderr io.Writer) (result, error) {
	ctx := context.WithoutCancel(interrupt)
	view := &live{w: stderr, items: opts.cfg.Items}
	sup = sup.With(supervisor.Config{
		OnEvent:    view.hear,
		Background: []supervisor.Task{{Name: "live view", Run: view.show}},
	})
	run, err := supervisor.Deploy(ctx, sup, shaky.With(opts.cfg), opts.at)
	if err != nil {
		return result{}, err
	}
	defer run.Stop()
	defer context.AfterFunc(interrupt, run.Drain)()

	var got tally
	for n, last := range run.Items(ctx) {
		if err = last; err == nil {
			got.add(n)
		}
	}
	run.Wait(ctx) // until the view has heard everything; what it returns is err
	view.end(run.Stats())
	if err != nil {
		return result{}, err
	}
	if interrupt.Err() != nil {
		fmt.Fprintln(stderr, "restart: interrupted; the result is of the items until here")
	}
	return summarize(run.Stats(), opts.cfg, &got), nil
}
