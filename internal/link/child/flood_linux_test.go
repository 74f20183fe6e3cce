package child

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A listener keeps what it hears. On a machine too busy for it, it may hear one line after Exited.
type listener struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (l *listener) hear(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
}

func (l *listener) heard() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// checkSum wants each line to be heard or dropped. Lines are dropped only where the machine is too busy for the listener: then
// one more may be on its way.
func checkSum(t *testing.T, heard, dropped, want int) {
	t.Helper()
	if under := want - heard - dropped; under != 0 && (under != 1 || dropped == 0) {
		t.Fatalf("%d lines were heard and %d dropped, of %d", heard, dropped, want)
	}
}

func TestEachLineOfAChildIsHandedOn(t *testing.T) {
	const n = 20_000
	var l listener
	p := started(t, fmt.Sprint("lines:", n), Spec{Output: l.hear})
	e := p.Exit()
	lines := l.heard()
	checkSum(t, len(lines), e.Dropped, n+1)
	if i := slices.Index(lines, "and no end"); i < 0 && e.Dropped == 0 || string(e.Tail) != "and no end" {
		t.Errorf("the line of stderr is at %d, and the tail is %q", i, e.Tail)
	}
	last := -1
	for _, line := range slices.DeleteFunc(lines, func(l string) bool { return l == "and no end" }) {
		var i int
		if _, err := fmt.Sscanf(line, "line %d", &i); err != nil || i <= last || line != fmt.Sprint("line ", i) {
			t.Fatalf("%q after line %d", line, last)
		}
		last = i
	}
}

func TestAFloodNeitherBlocksTheChildNorGrowsTheParent(t *testing.T) {
	const n, lines = 1000, 500 // n times 500 lines, 60 KB
	var heard atomic.Int64
	stuck := make(chan struct{})
	for name, output := range map[string]func([]byte){
		"nobody listens": nil,
		"a quick one":    func([]byte) { heard.Add(1) },
		"a stuck one":    func([]byte) { <-stuck },
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			p := started(t, fmt.Sprint("flood:", n), Spec{Output: output})
			select {
			case <-p.Exited():
			case <-time.After(60 * time.Second):
				t.Fatal("it was blocked")
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			e := p.Exit()
			if e.Text != "exit status 0" || len(e.Tail) != tailBytes || !bytes.HasSuffix(e.Tail, []byte("flood \n")) {
				t.Errorf("%s, %d bytes of tail", e.Text, len(e.Tail))
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 32<<20 {
				t.Errorf("the heap has grown by %d bytes", grown)
			}
			switch name {
			case "a quick one":
				checkSum(t, int(heard.Load()), e.Dropped, n*lines)
			case "a stuck one":
				if e.Dropped != n*lines-1 {
					t.Errorf("%d lines were dropped", e.Dropped)
				}
			}
		})
	}
	close(stuck)
}

func TestWhatWasPrintedBeforeADeathIsReadAfterIt(t *testing.T) {
	stdout, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, errs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() // both are open until the end, as others may have them
	defer errs.Close()
	said := bytes.Repeat([]byte("0123456789\n"), 5000) // more than one buffer
	if _, err := errs.Write(said); err != nil {
		t.Fatal(err)
	}
	var l listener
	o := newOutput(stdout, stderr, l.hear)
	if err := stderr.SetReadDeadline(time.Unix(1, 0)); err != nil { // nothing is read before
		t.Fatal(err)
	}
	o.start()
	o.finish()
	if tail := o.tail.bytes(); !bytes.Equal(tail, said) {
		t.Errorf("%d bytes of tail", len(tail))
	}
	checkSum(t, len(l.heard()), o.lost(), 5000)
}

func TestASlowListenerIsNotWaitedForAfterADeath(t *testing.T) {
	stuck := make(chan struct{})
	defer close(stuck)
	p := started(t, "lines:1000", Spec{Output: func([]byte) { <-stuck }})
	within(t, p.Exited(), 10*time.Second, "the death")
	if e := p.Exit(); e.Dropped != 1000 || string(e.Tail) != "and no end" {
		t.Errorf("%d lines were dropped, tail %q", e.Dropped, e.Tail)
	}
}
