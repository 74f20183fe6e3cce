package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
)

// Config is what the pipeline depends on. Table and Audit stand for a database and a metrics service: they are pointers,
// so this pipeline stays in its process. With a database, Config has its address, and connect opens it.
type Config struct {
	Dir   string
	Bad   string // file for the lines that are broken; empty: they are only counted and named
	Table *table
	Audit *audit
}

// onBadLine tolerates some broken lines, and keeps them if there is a place for them.
func (c Config) onBadLine() stages.AnyOption {
	const most = stages.Fraction(0.05)
	if c.Bad == "" {
		return stages.OnError(stages.Skip(most))
	}
	return stages.OnError(stages.DeadLetter(deadletter.File(c.Bad), most))
}

// data is how files are called that are loaded.
const data = "*.jsonl"

// reads reports whether a file at path would be loaded.
func (c Config) reads(path string) bool {
	if called, _ := filepath.Match(data, filepath.Base(path)); !called {
		return false
	}
	dir, err1 := resolved(c.Dir)
	parent, err2 := resolved(filepath.Dir(path))
	below, err3 := filepath.Rel(dir, parent)
	return errors.Join(err1, err2, err3) == nil && filepath.IsLocal(below) // with an error, opening it has one as well
}

// resolved returns the path of a folder without symbolic links.
func resolved(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// A Row is what a line has to say.
type Row struct {
	ID    int64
	City  string
	Valid bool
}

// The pipeline's items are the numbers of rows that were new to the table.
var etl = stages.Define("etl", func(g *stages.Graph, cfg Config) stages.Stream[int] {
	files := stages.Source(g, "files", stages.FromFiles(cfg.Dir, data))
	lines := stages.FlatMap(files, "lines", readLines, stages.Mailbox(2), stages.Streaming)
	rows := stages.Map(lines, "parse", parse, stages.Mailbox(4), cfg.onBadLine())

	rows, copies := stages.Tee(rows, "copy")
	stages.Sink(copies, "audit", cfg.Audit.add)

	valid := stages.Filter(rows, "valid", func(_ context.Context, r Row) (bool, error) { return r.Valid, nil })
	batches := stages.Batch(valid, "batch", 100, stages.MaxWait(time.Second))
	return stages.MapWith(batches, "insert", cfg.connect, (*conn).insert, stages.Mailbox(4), stages.Timeout(30*time.Second))
})

// A line is a line of a file, with what a person needs to find it.
type line struct {
	Path   string
	Number int
	Text   []byte
}

// readLines yields the same lines each time it is called for a file, which is what Streaming asks for.
func readLines(_ context.Context, path string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(line{}, err)
			return
		}
		defer f.Close()
		in := bufio.NewScanner(f)
		for n := 1; in.Scan(); n++ {
			if !yield(line{path, n, []byte(in.Text())}, nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			yield(line{}, fmt.Errorf("%s: %w", path, err))
		}
	}
}

func parse(_ context.Context, l line) (r Row, err error) {
	if err := json.Unmarshal(l.Text, &r); err != nil {
		return Row{}, fmt.Errorf("%s:%d: %w", l.Path, l.Number, err)
	}
	return r, nil
}
