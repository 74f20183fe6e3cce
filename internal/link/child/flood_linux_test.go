package child

import (
	"bytes"
	"fmt"
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
