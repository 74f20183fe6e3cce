// Command etl loads files of JSON lines into a table. It reads, checks and inserts at the same time, counts what it reads
// by city on the way, and tolerates some broken lines, which it names, and keeps if it is told where.
//
//	go run ./examples/etl                             # loads files that it makes up
//	go run ./examples/etl -dir logs -bad bad.letters  # loads *.jsonl below a folder, and keeps broken lines
//	go run ./examples/etl -again bad.letters          # loads those lines, once parse can read them
//
// The first Ctrl-C ends it behind the files that have been listed, which are all of a few: the items of the source are files, so
// that is what is finished. A second one kills it.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/signal"
	"slices"

	"github.com/weirflow/weir/stages/deadletter"
	"github.com/weirflow/weir/supervisor"
)

func main() {
	sup := supervisor.Main(etl)
	dir := flag.String("dir", "", "folder with *.jsonl `files`; empty makes some up")
	bad := flag.String("bad", "", "`file` to keep broken lines in, as bad.letters")
	again := flag.String("again", "", "`file` with broken lines to be loaded instead of a folder")
	flag.Parse()
	if err := command(interrupted(), sup, paths{*dir, *bad, *again}, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// interrupted returns a context that the first Ctrl-C ends. From then on a second one does what it always does.
func interrupted() context.Context {
	first, again := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, heard := context.WithCancel(context.Background())
	context.AfterFunc(first, func() { again(); heard() })
	return ctx
}

// Paths are what the flags say.
type paths struct{ dir, bad, again string }

// command loads what it is told to. When interrupt ends, the files that were listed by then are still loaded.
func command(interrupt context.Context, sup *supervisor.Supervisor, from paths, w io.Writer) error {
	if from.dir == "" && from.again == "" {
		made, err := os.MkdirTemp("", "etl")
		if err != nil {
			return err
		}
		defer os.RemoveAll(made)
		if err := writeFiles(made, 3, 1000); err != nil {
			return err
		}
		from.dir = made
	}
	cfg := Config{Dir: from.dir, Bad: from.bad, Table: newTable(), Audit: newAudit()}
	var opts []supervisor.DeployOption
	if from.again != "" {
		cfg.Dir = "." // which nobody looks into
		opts = append(opts, supervisor.Replay(deadletter.Read(from.again)))
	} else if cfg.reads(cfg.Bad) {
		return fmt.Errorf("-bad %s: the next run would load its letters as data: call it .letters, or put it elsewhere", cfg.Bad)
	}
	stats, err := load(interrupt, sup, cfg, opts...)
	if err != nil {
		return err
	}
	report(w, cfg, stats)
	return nil
}

func load(interrupt context.Context, sup *supervisor.Supervisor, cfg Config, opts ...supervisor.DeployOption) (supervisor.Stats, error) {
	ctx := context.WithoutCancel(interrupt)
	run, err := supervisor.Deploy(ctx, sup, etl.With(cfg), supervisor.InProcess{}, opts...)
	if err != nil {
		return supervisor.Stats{}, err
	}
	defer run.Stop()
	defer context.AfterFunc(interrupt, run.Drain)() // finish what the source has yielded, then end

	for _, err := range run.Items(ctx) {
		if err != nil {
			return run.Stats(), err
		}
	}
	return run.Stats(), nil
}

func report(w io.Writer, cfg Config, stats supervisor.Stats) {
	fmt.Fprintln(w, cfg.Table.Len(), "rows in the table")
	for _, s := range stats.Stages {
		if s.Failed > 0 {
			fmt.Fprintf(w, "stage %q: %d of %d items failed\n", s.Stage, s.Failed, s.In)
		}
	}
	if n := len(stats.Failures); n > 0 {
		fmt.Fprintln(w, "the last one:", stats.Failures[n-1])
	}
	byCity := cfg.Audit.Counts()
	for _, city := range slices.SortedFunc(maps.Keys(byCity), func(a, b string) int {
		return cmp.Or(byCity[b]-byCity[a], cmp.Compare(a, b))
	}) {
		fmt.Fprintf(w, "%6d read from %s\n", byCity[city], city)
	}
}
