package main

import (
	"bytes"
	"context"
	"iter"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/supervisor"
)

func itemsOf(t *testing.T, cfg Config) iter.Seq2[[]tensor, error] {
	return supervisor.Items(t.Context(), sup, loader.With(cfg), supervisor.InProcess{})
}

// A screenOf is what somebody sees who sits before a terminal.
type screenOf struct {
	mu    sync.Mutex
	lines [][]rune // guarded by mu
	at    int      // guarded by mu: the column, in the last line
	shown func(line string)
}

func (s *screenOf) Write(p []byte) (int, error) {
	s.mu.Lock()
	for _, r := range string(p) {
		if len(s.lines) == 0 {
			s.lines = make([][]rune, 1)
		}
		line := &s.lines[len(s.lines)-1]
		switch r {
		case '\n':
			s.lines, s.at = append(s.lines, nil), 0
		case '\r':
			s.at = 0
		default:
			if s.at == len(*line) {
				*line = append(*line, ' ')
			}
			(*line)[s.at] = r
			s.at++
		}
	}
	now := s.last()
	s.mu.Unlock()
	if s.shown != nil {
		s.shown(now)
	}
	return len(p), nil
}

// now is how many lines there are, and the one of the cursor.
func (s *screenOf) now() (lines int, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines), s.last()
}

// last wants mu.
func (s *screenOf) last() string {
	if len(s.lines) == 0 {
		return ""
	}
	return strings.TrimRight(string(s.lines[len(s.lines)-1]), " ")
}

func TestABarGrowsOnOneLineAndLeavesNoTrace(t *testing.T) {
	dir := t.TempDir()
	n := writeGoodImages(t, dir) // 14
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		s := &screenOf{shown: func(line string) { seen = append(seen, line) }}
		began := time.Now()
		done := func() int64 { return int64(time.Since(began).Seconds() * 2) }
		hide := showProgress(t.Context(), terminal{s}, Config{Dir: dir, Epochs: 10}, done)
		time.Sleep(35*time.Second + 50*time.Millisecond)
		half := regexp.MustCompile(`^ *50% \|█{20} {20}\| \(70/140, 2 images/s\) \[35s:3[45]s\]$`)
		if lines, bar := s.now(); lines != 1 || !half.MatchString(bar) {
			t.Errorf("after 35 of 70 s, in %d lines: %q", lines, bar)
		}
		hide()
		hide()
		if lines, bar := s.now(); lines != 1 || bar != "" {
			t.Errorf("left behind in %d lines: %q", lines, bar)
		}
		drawn := len(seen)
		time.Sleep(time.Minute)
		if len(seen) != drawn {
			t.Errorf("%q drawn after the end", seen[drawn:])
		}
		if n != 14 || drawn < 300 {
			t.Errorf("%d images, the bar drawn %d times", n, drawn)
		}
	})
}

func TestABarIsGoneWhenAllIsDoneAndMore(t *testing.T) {
	dir := t.TempDir()
	writeGoodImages(t, dir)
	synctest.Test(t, func(t *testing.T) {
		s := &screenOf{}
		var done atomic.Int64
		done.Store(7)
		hide := showProgress(t.Context(), terminal{s}, Config{Dir: dir, Epochs: 1}, done.Load)
		synctest.Wait()
		if _, bar := s.now(); !strings.Contains(bar, " 50% |") {
			t.Errorf("half of it done: %q", bar)
		}
		done.Store(99) // files that were added after the count
		time.Sleep(time.Second)
		if lines, bar := s.now(); bar != "" || lines > 1 {
			t.Errorf("all done, and still there: %q", bar)
		}
		hide()
		if lines, bar := s.now(); bar != "" || lines > 1 {
			t.Errorf("left behind: %q", bar)
		}
	})
}

func TestWithoutATerminalALineTellsProgressNowAndThen(t *testing.T) {
	dir := t.TempDir()
	writeGoodImages(t, dir)
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		began := time.Now()
		done := func() int64 { return int64(max(time.Since(began).Seconds()-10, 0)) } // nothing for ten seconds
		hide := showProgress(t.Context(), &out, Config{Dir: dir, Epochs: 5}, done)
		time.Sleep(35 * time.Second)
		hide()
		time.Sleep(time.Minute)
		want := "imageloader: 0 of 70 images, 0.0 images/s, time left unknown\n" +
			"imageloader: 10 of 70 images, 0.5 images/s, 2m0s left\n" +
			"imageloader: 20 of 70 images, 0.7 images/s, 1m15s left\n"
		if out.String() != want {
			t.Errorf("lines:\n%swant:\n%s", &out, want)
		}
	})
}

func TestNoProgressIsShownOfAFolderThatCannotBeCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &screenOf{}
		hide := showProgress(t.Context(), terminal{s}, Config{Dir: "gone", Epochs: 5}, func() int64 { return 1 })
		time.Sleep(time.Minute)
		hide()
		if len(s.lines) != 0 {
			t.Errorf("shown: %q", s.last())
		}
	})
}

func TestTheFirstInterruptDrainsAndTheSecondStops(t *testing.T) {
	dir := t.TempDir()
	writeGoodImages(t, dir)
	args := []string{"-dir", dir, "-epochs", "1000000", "-json"}
	for _, tt := range []struct {
		name     string
		stop     bool
		status   int
		lastLine string
	}{
		{"the first", false, 0, "imageloader: interrupted; the summary is of the images until here"},
		{"the second", true, 1, "imageloader: interrupted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			drain, interrupt := context.WithCancel(context.Background())
			defer interrupt()
			// Ctrl-C is pressed when the bar has begun to move.
			s := &screenOf{shown: func(line string) {
				if strings.Contains(line, "images/s") && !strings.Contains(line, "(0/") {
					if interrupt(); tt.stop {
						stop(errInterrupted)
					}
				}
			}}
			var stdout bytes.Buffer
			if status := command(ctx, drain, sup, args, &stdout, terminal{s}); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			if len(s.lines) != 2 || string(s.lines[0][:len(tt.lastLine)]) != tt.lastLine || s.last() != "" {
				t.Errorf("screen %q, want %q", s.lines, tt.lastLine)
			}
			if tt.stop {
				if stdout.Len() > 0 {
					t.Errorf("standard output %q", &stdout)
				}
				return
			}
			if got := (result{stdout: stdout.String()}).summary(t); got.Delivered < 1 || got.Delivered != got.Yielded || got.Mean == nil {
				t.Errorf("%+v", got)
			}
		})
	}
}
