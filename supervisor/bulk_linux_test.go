package supervisor_test

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// arenas returns how many mappings of shared memory this process has, and how many descriptors in all.
func arenas(t testing.TB) (mappings, descriptors int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), "memfd:weir-arena"), len(open)
}

func checkNoArenas(t testing.TB, descriptors int) {
	t.Helper()
	if m, d := arenas(t); m != 0 || d > descriptors {
		t.Errorf("left over: %d mappings; %d descriptors, of %d", m, d, descriptors)
	}
}

// killChild kills a child of this process, of which there is one.
func killChild(t testing.TB) {
	t.Helper()
	for _, pid := range childrenOf(t) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}

func TestViewsOutliveTheirNode(t *testing.T) {
	before, fds := arenas(t)
	run, err := supervisor.Deploy(t.Context(), children, relayView.With(cargo{Sizes: []int{256 << 10}, N: 100}), inAChild(supervisor.Subprocess{}))
	if err != nil {
		t.Fatal(err)
	}
	var held []stages.View
	first := 0
	i := 0
	for v, err := range run.Items(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if held = append(held, v); len(held) == 8 {
			if i == 47 {
				killChild(t)
			}
			if i > 55 || i < 47 {
				for k, v := range held {
					if !sameView(first+k, 256<<10, v) {
						t.Fatalf("item %d is another", first+k)
					}
					checkReleased(t, v)
				}
				first += len(held)
				held = held[:0]
			}
		}
		if i++; len(held) > 8 {
			for k := range held {
				if !sameBytes(first+k, 256<<10, held[k].Bytes()) {
					t.Fatalf("item %d is another", first+k)
				}
			}
			for _, v := range held[:8] {
				v.Release()
			}
			first += 8
			held = append(held[:0], held[8:]...)
		}
	}
	if i != 100 {
		t.Errorf("%d items", i)
	}
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	if n := run.Stats().Nodes[0].Lives; n != 2 {
		t.Errorf("%d lives", n)
	}
	for k, v := range held {
		if !sameView(first+k, 256<<10, v) {
			t.Errorf("after the run, item %d is another", first+k)
		}
	}
	if before == 0 {
		checkNoArenas(t, fds)
	}
}

func checkReleased(t *testing.T, v stages.View) {
	t.Helper()
	defer func() {
		if r := recover(); r == nil {
			t.Error("a view that was released shows something")
		} else if err, _ := r.(error); !errors.Is(err, payload.ErrReleased) {
			t.Errorf("panicked with %v", r)
		}
	}()
	v.Bytes()
}

func TestViewsGoFromRegionToRegion(t *testing.T) {
	m, fds := arenas(t)
	at := supervisor.Regions{{From: "make", On: supervisor.Subprocess{ArenaBytes: 1 << 20}}, {From: "pass", On: supervisor.Subprocess{ArenaBytes: 1 << 20}}}
	run, err := supervisor.Deploy(t.Context(), children, twoRelays.With(cargo{Sizes: []int{64 << 10}, N: 500}), at)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for v, err := range run.Items(t.Context()) {
		if err != nil || !sameView(i, 64<<10, v) {
			t.Fatalf("item %d: %v", i, err)
		}
		i++
	}
	if err := run.Stop(); err != nil || i != 500 {
		t.Errorf("%d items, %v", i, err)
	}
	for _, n := range run.Stats().Nodes {
		if n.ViewsLost+n.ViewsDropped > 0 || n.ArenaFull > 400 {
			t.Errorf("%+v", n)
		}
	}
	if m == 0 {
		checkNoArenas(t, fds)
	}
}

func TestForgottenViewsAreInTheStatistics(t *testing.T) {
	run, err := supervisor.Deploy(t.Context(), children, relayView.With(cargo{Sizes: []int{64 << 10}, N: 60}), inAChild(supervisor.Subprocess{}))
	if err != nil {
		t.Fatal(err)
	}
	i, sum := 0, 0
	for v, err := range run.Items(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if i++; i%2 == 0 {
			sum += len(v.Bytes())
		}
	}
	if err := run.Stop(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for n := run.Stats().Nodes[0]; n.ViewsLost < 28 || n.ViewsDropped < 28; n = run.Stats().Nodes[0] { // the last ones may still be in a variable
		if time.Now().After(deadline) {
			t.Fatalf("%+v", n)
		}
		runtime.GC()
		runtime.Gosched()
	}
}

func TestBlocksThatAreOutWhenAChildDies(t *testing.T) {
	m, fds := arenas(t)
	cfg := cargo{Sizes: []int{64 << 10, 100, 300 << 10}, N: 3000, Ahead: 4}
	run, err := supervisor.Deploy(t.Context(), children, relayBytes.With(cfg), inAChild(supervisor.Subprocess{ArenaBytes: 4 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for v, err := range run.Items(t.Context()) {
		if err != nil || !sameBytes(i, cfg.size(i), v) {
			t.Fatalf("item %d: %v", i, err)
		}
		if i++; i%700 == 0 {
			killChild(t)
		}
	}
	if err := run.Stop(); err != nil || i != cfg.N {
		t.Errorf("%d items, %v", i, err)
	}
	if n := run.Stats().Nodes[0]; n.Lives < 4 {
		t.Errorf("%+v", n)
	}
	if m == 0 {
		checkNoArenas(t, fds)
	}
}

func TestNothingIsLeftOfManyDeployments(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 10
	}
	m, fds := arenas(t)
	for i := range n {
		cfg := cargo{Sizes: []int{64 << 10}, N: 40}
		run, err := supervisor.Deploy(t.Context(), children, relayBytes.With(cfg), inAChild(supervisor.Subprocess{ArenaBytes: 1 << 20}))
		if err != nil {
			t.Fatal(err)
		}
		k := 0
		for v, err := range run.Items(t.Context()) {
			if err != nil || !sameBytes(k, 64<<10, v) {
				t.Fatalf("item %d: %v", k, err)
			}
			if k++; i%2 == 0 && k == 5 { // else to its end
				break
			}
		}
		run.Stop()
	}
	if m == 0 {
		checkNoArenas(t, fds+2)
	}
}

func TestDescriptorsThatAreLackingForAWhile(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	enough := func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	}
	var lost atomic.Pointer[supervisor.NodeError]
	cfg := supervisor.Config{OnEvent: func(e supervisor.Event) {
		if e, ok := e.(supervisor.NodeRestarted); ok {
			err, _ := errors.AsType[*supervisor.NodeError](e.Err)
			lost.Store(err)
			enough()
		}
	}}
	_, fds := arenas(t)
	low := was
	low.Cur = uint64(fds)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer enough()
	run, err := supervisor.Deploy(t.Context(), children.With(cfg), relayBytes.With(cargo{Sizes: []int{64 << 10}, N: 3}), inAChild(supervisor.Subprocess{}))
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for v, err := range run.Items(t.Context()) {
		if err != nil || !sameBytes(i, 64<<10, v) {
			t.Fatalf("item %d: %v", i, err)
		}
		i++
	}
	if err := run.Stop(); err != nil || i != 3 {
		t.Errorf("%d items, %v", i, err)
	}
	if err := lost.Load(); err == nil || !errors.Is(err, syscall.EMFILE) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkChildKill is the time from the death of a child to the next item.
func BenchmarkChildKill(b *testing.B) {
	run, err := supervisor.Deploy(b.Context(), children, relayBytes.With(cargo{Sizes: []int{64 << 10}, N: 1 << 30}), inAChild(supervisor.Subprocess{}))
	if err != nil {
		b.Fatal(err)
	}
	defer run.Stop()
	next, stop := iter.Pull2(run.Items(b.Context()))
	defer stop()
	lives := 1
	for b.Loop() {
		b.StopTimer()
		for range 100 {
			if _, err, _ := next(); err != nil {
				b.Fatal(err)
			}
		}
		killChild(b)
		b.StartTimer()
		for run.Stats().Nodes[0].Lives == lives {
			next()
		}
		lives++
		for range 300 { // what was accepted before is out by then
			if _, err, _ := next(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
