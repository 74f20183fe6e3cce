package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/weirflow/weir/supervisor"
)

const (
	drawEvery = 100 * time.Millisecond
	lineEvery = time.Second
)

// A terminal is a writer whose last line can be written over, as long as it is shorter than columns.
type terminal struct {
	io.Writer
	columns int
}

// screen returns f as a terminal, if it is one.
func screen(f *os.File) io.Writer {
	if !term.IsTerminal(int(f.Fd())) {
		return f
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 1 {
		columns = 80
	}
	return terminal{f, columns}
}

// A live shows on w how a run is doing: how many restarts there were, and why the last. There may be thousands in a
// second, so it does not show each: on a terminal there is one line that changes, elsewhere a line per second.
type live struct {
	w     io.Writer
	items int64

	mu   sync.Mutex
	last string // guarded by mu: which stage had to restart a worker, and why
}

// hear is a Config.OnEvent.
func (l *live) hear(e supervisor.Event) {
	if e, ok := e.(supervisor.WorkerRestarted); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.last = fmt.Sprintf("%s: %v", e.Stage, e.Err)
	}
}

// show is a background task: it goes on until the run ends.
func (l *live) show(ctx context.Context, stats func() supervisor.Stats) error {
	every := lineEvery
	if _, ok := l.w.(terminal); ok {
		every = drawEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			l.line(stats(), "")
		}
	}
}

// end shows how it was in the end. show must have returned.
func (l *live) end(st supervisor.Stats) { l.line(st, "\n") }

// line writes how it is; on a terminal over the line before, and then end.
func (l *live) line(st supervisor.Stats, end string) {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	text := fmt.Sprintf("restart: %d/%d items, %d failed, %d restarts", st.Delivered+st.Failed, l.items, st.Failed, st.Restarts)
	if last != "" {
		text += "; " + last
	}
	if t, ok := l.w.(terminal); ok {
		fmt.Fprintf(t, "\r\x1b[K%s%s", text[:min(len(text), t.columns-1)], end)
		return
	}
	fmt.Fprintln(l.w, text)
}
