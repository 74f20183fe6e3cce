// Command imageloader computes the mean and the deviation of each colour channel over a folder of images: the two
// rows of numbers that a training program wants before it starts, and the loader that it would have afterwards.
//
//	go run ./examples/imageloader                         # the 85 images that come with every Go installation
//	go run ./examples/imageloader -dir photos -workers 8  # a folder of your own, subfolders included
//	go run ./examples/imageloader -dir photos -json       # one object, for the next program
//	go run ./examples/imageloader -placement subprocess   # the same, in a child process: nothing else changes
//
// The pipeline lists the JPEG, PNG, GIF, WebP and BMP files of the folder (by their names; what is in a file is found
// out by looking), and a number of workers read them, decode them, resize them to 224 x 224 without regard to their
// proportions, and turn them into float32 tensors, red plane first, in which 0 is dark and 1 is bright. They arrive
// here in batches. Of an animation the first frame counts; what is transparent counts as black.
//
// Mean and deviation are those of all pixels of all resized images that were delivered, on the scale 0 to 1; the
// deviation is that of the population. With several epochs every image counts once for each.
//
// # Flags
//
//	-dir folder      the images; without it, those in src/image of the Go installation (GOROOT, or what go env says)
//	-placement p     where the stages run: inprocess; subprocess, in a child of this program; load=4*subprocess, the decoding in
//	                 four of them; a file, .yaml or .json; and whatever else supervisor.ParsePlacement reads
//	-serve p         be a node: p is the placement that others give, tcp://host:port?join=file (made by examples/remotenode)
//	-workers n       how many images are decoded at once (4)
//	-batch n         images per batch (32); an epoch's last batch may be smaller
//	-epochs n        passes over the folder (1)
//	-ordered         deliver the images in the order of their names
//	-skip-errors n   how many files may turn out to be unreadable or broken, over all epochs, before the run fails
//	                 (0; without -dir 16 for each epoch, because some of those files are broken on purpose)
//	-json            print one JSON object instead of the summary
//
// # Output
//
// The summary goes to the standard output: counts, mean and deviation, the stages and where they ran, which files failed and
// why, and which processes were restarted (kill -9 one: mean and deviation are the same). On
// a terminal the stages are a table, and a bar shows progress meanwhile, on the standard error; elsewhere there are
// plain lines, and a line of progress every ten seconds.
//
// With -json the standard output is exactly one object with the keys pipeline, placement, yielded, delivered,
// filtered, failed, batches, mean, std, seconds, items_per_second. The counts are of images, and
// yielded = delivered + filtered + failed. mean and std are arrays of three, red first, or null when no image was
// delivered: nothing has no mean. items_per_second are the delivered ones. The failed files are named on the standard
// error, and so are processes that were restarted.
//
// The first Ctrl-C ends the list of files here: what was begun is finished and summed up. A second one stops at once.
// The exit status is 0 after a complete or drained run, 1 after one that failed or was stopped, with one line that
// says why, and 2 for a mistake in the command line.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func main() {
	sup := supervisor.Main(loader)
	ctx, drain := interrupts()
	os.Exit(command(ctx, drain, sup, os.Args[1:], screen(os.Stdout), screen(os.Stderr)))
}

// command is main without the process around it: it returns the exit status.
func command(ctx, drain context.Context, sup *supervisor.Supervisor, args []string, stdout, stderr io.Writer) int {
	opts, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage())
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "imageloader:", printable(err.Error()))
		return 2
	}
	if opts.serve != nil {
		err = serve(drain, opts.serve)
	} else {
		err = load(ctx, drain, sup, opts, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "imageloader:", printable(err.Error()))
		return 1
	}
	return 0
}

// load runs the pipeline and reports what came of it. The end of drain ends the list of files, that of ctx everything.
func load(ctx, drain context.Context, sup *supervisor.Supervisor, opts options, stdout, stderr io.Writer) (err error) {
	if opts.cfg.Dir == "" {
		if opts.cfg.Dir, err = goImages(ctx); err != nil {
			return err
		}
	}
	elsewhere := &nodes{stderr: stderr}
	run, err := supervisor.Deploy(ctx, sup.With(supervisor.Config{OnEvent: elsewhere.hear}), loader.With(opts.cfg), opts.at)
	if err != nil {
		return explain(ctx, opts.cfg, err)
	}
	defer run.Stop()
	defer context.AfterFunc(drain, run.Drain)()

	done := func() int64 { return finished(run.Stats()) }
	hide := showProgress(ctx, stderr, opts.cfg, done)
	defer hide()

	var seen moments
	for batch, err := range run.Items(ctx) {
		if err != nil {
			return explain(ctx, opts.cfg, err)
		}
		for _, t := range batch {
			seen.add(t.CHW)
		}
	}
	hide()

	if drain.Err() != nil {
		fmt.Fprintln(stderr, "imageloader: interrupted; the summary is of the images until here")
	}
	run.Wait(ctx) // until all events have been heard
	s := summarize(run.Stats(), opts.at, seen)
	s.restarts = elsewhere.lines()
	if opts.json {
		return s.writeJSON(stdout, stderr)
	}
	return s.writeText(stdout)
}

// explain says in the program's words why a run has failed.
func explain(ctx context.Context, cfg Config, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	bad, one := errors.AsType[*stages.ItemError](err)
	switch {
	case !one:
		return err
	case errors.Is(err, stages.ErrBudget):
		return fmt.Errorf("more than %d images failed, the last: %w", cfg.SkipErrors, bad.Err)
	default:
		return bad.Err
	}
}
