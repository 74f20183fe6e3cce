package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/supervisor"
)

// watch shows a run of some seconds, in which there is a restart per millisecond.
func watch(t *testing.T, w io.Writer, lasts time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &live{w: w, items: 9000}
		stats := func() supervisor.Stats { return supervisor.Stats{Delivered: 1000, Failed: 2, Restarts: 77} }
		ctx, cancel := context.WithTimeout(t.Context(), lasts)
		defer cancel()
		shown := make(chan error)
		go func() { shown <- l.show(ctx, stats) }()
		for i := 0; ctx.Err() == nil; i++ {
			l.hear(supervisor.WorkerRestarted{Stage: "shaky", Worker: 3, Lives: i, Err: errors.New("it broke")})
			time.Sleep(time.Millisecond)
		}
		if err := <-shown; err != nil {
			t.Error(err)
		}
		l.end(stats())
	})
}

const state = "restart: 1002/9000 items, 2 failed, 77 restarts; shaky: it broke"

func TestWithoutATerminalThereIsALinePerSecondAndALast(t *testing.T) {
	var out bytes.Buffer
	watch(t, &out, 3500*time.Millisecond)
	lines := strings.SplitAfter(out.String(), "\n")
	if len(lines) != 5 || lines[4] != "" {
		t.Fatalf("%q, want four lines", lines)
	}
	for _, line := range lines[:4] {
		if line != state+"\n" {
			t.Errorf("%q, want %q", line, state)
		}
	}
}

func TestOnATerminalOneLineChanges(t *testing.T) {
	var out bytes.Buffer
	watch(t, terminal{&out, 60}, 1050*time.Millisecond) // which is too narrow by some letters
	if want := strings.Repeat("\r\x1b[K"+state[:59], 11) + "\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}

// A hand presses Ctrl-C when it sees that something has been restarted.
type hand struct {
	once  sync.Once
	press func()
	seen  bytes.Buffer
}

func (h *hand) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "restarts; shaky: panic: item ") {
		h.once.Do(h.press)
	}
	return h.seen.Write(p)
}

func TestAnInterruptedRunIsFinishedAndSaysSo(t *testing.T) {
	interrupt, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout bytes.Buffer
	h := &hand{press: cancel}
	if status := command(interrupt, sup, []string{"-items", "1000000000", "-panic-every", "1000", "-json"}, &stdout, terminal{h, 100}); status != 0 {
		t.Fatalf("status %d: %q", status, &h.seen)
	}
	if !strings.HasSuffix(h.seen.String(), "\nrestart: interrupted; the result is of the items until here\n") {
		t.Errorf("standard error %q", &h.seen)
	}
	var r result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if err := r.check(); err != nil || r.Yielded == 0 || r.Yielded == 1_000_000_000 || r.Restarts == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
