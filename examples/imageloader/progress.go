package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 10 * time.Second
)

// A terminal is a writer that shows what is written at once, and lets a line be written over.
type terminal struct{ io.Writer }

// screen returns f as a terminal, if it is one.
func screen(f *os.File) io.Writer {
	if term.IsTerminal(int(f.Fd())) {
		return terminal{f}
	}
	return f
}

// showProgress shows on w how far the run is, until hide is called: a bar on a terminal, elsewhere a line now and then.
// After hide there is no trace of a bar, and w is the caller's again. hide may be called twice.
func showProgress(ctx context.Context, w io.Writer, cfg Config, done func() int64) (hide func()) {
	ctx, cancel := context.WithCancel(ctx)
	p := &progress{w: w, done: done, total: -1, started: time.Now()}
	first, every, show := lineEvery, lineEvery, p.line
	if t, ok := w.(terminal); ok {
		p.w = t.Writer
		first, every, show = 0, barEvery, p.draw
	}
	stop := repeat(first, every, func() {
		if p.total < 0 {
			p.total = countFiles(ctx, cfg.Dir) * int64(cfg.Epochs)
		}
		if ctx.Err() == nil && p.total > 0 {
			show()
		}
	})
	return func() {
		cancel() // a count that still goes on
		stop()
		p.clear()
	}
}

// A progress is used by one goroutine at a time: that of repeat, and after that the one that has called stop.
type progress struct {
	w       io.Writer
	started time.Time
	done    func() int64
	total   int64                    // -1 until it is counted
	bar     *progressbar.ProgressBar // nil until it is drawn
}

// draw draws the bar over itself. The bar fits itself into the terminal.
func (p *progress) draw() {
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(p.total,
			progressbar.OptionSetWriter(p.w), progressbar.OptionSetItsString("images"),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionClearOnFinish())
	}
	p.bar.Set64(min(p.done(), p.total)) // a folder may have grown since it was counted
}

func (p *progress) line() {
	done := p.done()
	rate := float64(done) / time.Since(p.started).Seconds()
	left := "time left unknown"
	if rate > 0 {
		d := time.Duration(float64(max(p.total-done, 0)) / rate * float64(time.Second))
		left = d.Round(time.Second).String() + " left"
	}
	fmt.Fprintf(p.w, "imageloader: %d of %d images, %.1f images/s, %s\n", done, p.total, rate, left)
}

func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Clear()
		p.bar = nil
	}
}

// repeat calls f in a goroutine, after first and then in intervals of every. stop ends that; when it returns, no call
// of f goes on, and none will follow. stop may be called twice.
func repeat(first, every time.Duration, f func()) (stop func()) {
	var (
		mu      sync.Mutex
		timer   *time.Timer // guarded by mu
		stopped bool        // guarded by mu
	)
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(first, func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			f()
			timer.Reset(every)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// countFiles is how many images the pipeline will list, or 0 when the folder cannot be read: then the run says so.
func countFiles(ctx context.Context, dir string) (n int64) {
	patterns := patterns()
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return 0
	}
	filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			n = 0
			return fs.SkipAll
		}
		for _, p := range patterns {
			if ok, _ := path.Match(p, e.Name()); ok && !e.IsDir() {
				n++
			}
		}
		return nil
	})
	return n
}
