package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/weirflow/weir/supervisor"
)

const (
	// More workers than this are a slip of the finger, and each costs 256 KiB.
	maxWorkers = 1024

	// Files in src/image that are broken on purpose, with some room for those of other versions of Go.
	brokenInGo = 16
)

// options are the command line.
type options struct {
	cfg   Config
	at    supervisor.Placement
	serve supervisor.Placement // nil: it is no node
	json  bool
}

// flags declares the command line; its values land in opts, except for where to run and what to serve.
func flags(opts *options, placement, serve *string) *flag.FlagSet {
	fs := flag.NewFlagSet("imageloader", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // its errors come with the whole usage
	fs.StringVar(&opts.cfg.Dir, "dir", "", "`folder` of images (default: the images of the Go installation)")
	fs.StringVar(placement, "placement", "inprocess", "where the stages run: inprocess, subprocess, load=4*subprocess, a `file`.yaml, ...")
	fs.StringVar(serve, "serve", "", "be a node at this `placement`, tcp://HOST:PORT?join=FILE, and load nothing")
	fs.IntVar(&opts.cfg.Workers, "workers", 4, "images that are decoded at once")
	fs.IntVar(&opts.cfg.Batch, "batch", 32, "images per batch")
	fs.IntVar(&opts.cfg.Epochs, "epochs", 1, "passes over the folder")
	fs.BoolVar(&opts.cfg.Ordered, "ordered", false, "deliver the images in the order of their names")
	fs.IntVar(&opts.cfg.SkipErrors, "skip-errors", 0, "failed images to tolerate (default: 0, without -dir 16 per epoch)")
	fs.BoolVar(&opts.json, "json", false, "print one JSON object")
	return fs
}

func usage() string {
	var b strings.Builder
	b.WriteString("Usage: imageloader [flags]\n\nMean and deviation of the colours of a folder of images.\n\n")
	fs := flags(new(options), new(string), new(string))
	fs.SetOutput(&b)
	fs.PrintDefaults()
	return b.String()
}

// parse reads the command line. Every error is one line; flag.ErrHelp asks for the usage. Without -dir the folder is "".
func parse(args []string) (opts options, err error) {
	var placement, serve string
	fs := flags(&opts, &placement, &serve)
	if err := fs.Parse(args); err != nil {
		return opts, err
	}
	if fs.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q: the folder is given with -dir", fs.Arg(0))
	}
	if opts.at, err = supervisor.ParsePlacement(placement); err != nil {
		return opts, err
	}
	if serve != "" {
		if opts.serve, err = supervisor.ParsePlacement(serve); err != nil {
			return opts, err
		}
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := opts.cfg.validate(); err != nil {
		return opts, err
	}
	switch {
	case !given["dir"] && !given["skip-errors"]:
		opts.cfg.SkipErrors = brokenInGo * opts.cfg.Epochs
	case !given["dir"]:
	case opts.cfg.Dir == "":
		return opts, errors.New("-dir is empty") // as a rule a variable of a script that is not set
	}
	return opts, nil
}

func (c Config) validate() error {
	switch {
	case c.Workers < 1 || c.Workers > maxWorkers:
		return fmt.Errorf("-workers %d: want 1 to %d", c.Workers, maxWorkers)
	case c.Batch < 1:
		return fmt.Errorf("-batch %d: want at least 1", c.Batch)
	case c.Epochs < 1:
		return fmt.Errorf("-epochs %d: want at least 1", c.Epochs)
	case c.SkipErrors < 0:
		return fmt.Errorf("-skip-errors %d: want at least 0", c.SkipErrors)
	}
	return nil
}
