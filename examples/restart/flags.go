package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/weirflow/weir/supervisor"
)

// What has come is noted in one bit per item: more items than this are a slip of the finger.
const maxItems = 1_000_000_000

// options are the command line.
type options struct {
	cfg  Config
	at   supervisor.Placement
	json bool
}

// flags declares the command line; its values land in opts, except for where to run.
func flags(opts *options, placement *string) *flag.FlagSet {
	fs := flag.NewFlagSet("restart", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // its errors come with the whole usage
	fs.Int64Var(&opts.cfg.Items, "items", 100_000, "items to send")
	fs.Int64Var(&opts.cfg.PanicEvery, "panic-every", 13, "a worker panics at each so many-th item, once; 0: never")
	fs.Int64Var(&opts.cfg.FailEvery, "fail-every", 1501, "each so many-th item cannot be decoded; 0: none")
	fs.StringVar(placement, "placement", "inprocess", "where the stages run")
	fs.BoolVar(&opts.json, "json", false, "print one JSON object")
	return fs
}

func usage() string {
	var b strings.Builder
	b.WriteString("Usage: restart [flags]\n\nA stage that panics again and again loses nothing.\n\n")
	fs := flags(new(options), new(string))
	fs.SetOutput(&b)
	fs.PrintDefaults()
	return b.String()
}

// parse reads the command line. Every error is one line; flag.ErrHelp asks for the usage.
func parse(args []string) (opts options, err error) {
	var placement string
	fs := flags(&opts, &placement)
	if err := fs.Parse(args); err != nil {
		return opts, err
	}
	if fs.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if opts.at, err = supervisor.ParsePlacement(placement); err != nil {
		return opts, err
	}
	return opts, opts.cfg.validate()
}

func (c Config) validate() error {
	switch {
	case c.Items < 1 || c.Items > maxItems:
		return fmt.Errorf("-items %d: want 1 to %d", c.Items, maxItems)
	case c.PanicEvery < 0:
		return fmt.Errorf("-panic-every %d: want at least 1, or 0 for never", c.PanicEvery)
	case c.FailEvery < 0:
		return fmt.Errorf("-fail-every %d: want at least 1, or 0 for none", c.FailEvery)
	}
	return nil
}
