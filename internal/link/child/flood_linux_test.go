package child

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestEachLineOfAChildIsHandedOn(t *testing.T) {
	const n = 20_000
	var lines []string
	p := started(t, fmt.Sprint("lines:", n), Spec{Output: func(line []byte) { lines = append(lines, string(line)) }})
	e := p.Exit()
	if e.Dropped != 0 || len(lines) != n+1 {
		t.Fatalf("%d lines, %d dropped", len(lines), e.Dropped)
	}
	if i := slices.Index(lines, "and no end"); i < 0 || string(e.Tail) != "and no end" {
		t.Errorf("stderr is at %d, and its tail is %q", i, e.Tail)
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "and no end" })
	for i, line := range lines {
		if line != fmt.Sprint("line ", i) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
}

func TestAFloodNeitherBlocksTheChildNorGrowsTheParent(t *testing.T) {
	const n = 1000 // of 60 KB
	stuck := make(chan struct{})
	for name, output := range map[string]func([]byte){
		"nobody listens": nil,
		"a quick one":    func([]byte) {},
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
			if dropped := e.Dropped > 0; dropped != (name == "a stuck one") {
				t.Errorf("%d lines were dropped", e.Dropped)
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
	var heard []byte
	o := newOutput(stdout, stderr, func(line []byte) { heard = append(append(heard, line...), '\n') })
	if err := stderr.SetReadDeadline(time.Unix(1, 0)); err != nil { // nothing is read before
		t.Fatal(err)
	}
	o.start()
	o.finish()
	if !bytes.Equal(o.tail.bytes(), said) || !bytes.Equal(heard, said) || o.lost() != 0 {
		t.Errorf("%d bytes of tail, %d of lines, %d lines lost", len(o.tail.bytes()), len(heard), o.lost())
	}
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
