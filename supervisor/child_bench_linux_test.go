package supervisor_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// cpuOf is what processes have used, in both modes.
func cpuOf(who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// drain takes all items, and reports what they took from the first one on.
func drain[T any](b *testing.B, p stages.Pipeline[T], at supervisor.Placement, n int, use func(T)) {
	b.Helper()
	parent, child := cpuOf(unix.RUSAGE_SELF), cpuOf(unix.RUSAGE_CHILDREN)
	run, err := supervisor.Deploy(b.Context(), children, p, at)
	if err != nil {
		b.Fatal(err)
	}
	got := 0
	for v, err := range run.Items(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		if got++; got == 1 {
			b.ResetTimer()
		}
		use(v)
	}
	b.StopTimer()
	run.Stop()
	if got != n {
		b.Fatalf("%d items of %d", got, n)
	}
	b.ReportMetric(float64(cpuOf(unix.RUSAGE_SELF)-parent)/float64(n), "parent-cpu-ns/op")
	b.ReportMetric(float64(cpuOf(unix.RUSAGE_CHILDREN)-child)/float64(n), "child-cpu-ns/op")
	for _, s := range run.Stats().Nodes {
		b.ReportMetric(float64(s.ArenaFull)/float64(n), "full/op")
	}
}

// BenchmarkChild is what items cost that go to a child and come back, or only come from it.
func BenchmarkChild(b *testing.B) {
	one := supervisor.Regions{{From: "pass", On: supervisor.Subprocess{}}}
	b.Run("small both ways", func(b *testing.B) {
		drain(b, benchSmall.With(cargo{N: b.N}), one, b.N, func(small) {})
	})
	b.Run("small here", func(b *testing.B) {
		drain(b, benchSmall.With(cargo{N: b.N}), nil, b.N, func(small) {})
	})
	make := supervisor.Regions{{From: "make", On: supervisor.Subprocess{}}}
	for _, size := range []int{64 << 10, 1 << 20} {
		sized := cargo{Sizes: []int{size}, N: b.N, Ahead: 8}
		b.Run(fmt.Sprintf("%d KiB/copy", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			sized.N = b.N
			drain(b, benchCopies.With(sized), make, b.N, func([]byte) {})
		})
		b.Run(fmt.Sprintf("%d KiB/view", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			sized.N = b.N
			drain(b, benchViews.With(sized), make, b.N, func(v stages.View) { v.Bytes(); v.Release() })
		})
		b.Run(fmt.Sprintf("%d KiB/memcpy", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			from, to := [8][]byte{}, [16][]byte{}
			for i := range from {
				from[i] = fill(i, size)
			}
			for i := range to {
				to[i] = fill(i, size)
			}
			for i := 0; b.Loop(); i++ {
				copy(to[i%16], from[i%8])
			}
		})
	}
	b.Run("socketpair 6400 bytes", func(b *testing.B) { benchSocket(b, 6400) })
	b.Run("socketpair 64 KiB", func(b *testing.B) { benchSocket(b, 64<<10) })
}

// benchSocket writes messages through a pair of sockets.
func benchSocket(b *testing.B, size int) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		b.Fatal(err)
	}
	conns := [2]net.Conn{}
	for i := range conns {
		f := os.NewFile(uintptr(fds[i]), "pair")
		if conns[i], err = net.FileConn(f); err != nil {
			b.Fatal(err)
		}
		f.Close()
		defer conns[i].Close()
	}
	n := b.N
	done := make(chan error)
	go func() {
		_, err := io.CopyN(io.Discard, conns[1], int64(n)*int64(size))
		done <- err
	}()
	buf := make([]byte, size)
	b.SetBytes(int64(size))
	b.ResetTimer()
	for range n {
		if _, err := conns[0].Write(buf); err != nil {
			b.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkChildLatency is one item at a time, there and back.
func BenchmarkChildLatency(b *testing.B) {
	for _, at := range []struct {
		name string
		on   supervisor.Placement
	}{{"here", nil}, {"child", supervisor.Regions{{From: "pass", On: supervisor.Subprocess{}}}}} {
		b.Run(at.name, func(b *testing.B) {
			turns <- struct{}{}
			left := b.N
			drain(b, benchLatency.With(b.N), at.on, b.N, func(small) {
				if left--; left > 0 {
					turns <- struct{}{}
				}
			})
		})
	}
}

// BenchmarkChildStart is the deployment of a region to its first item.
func BenchmarkChildStart(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				run, err := supervisor.Deploy(b.Context(), children, relayBytes.With(cargo{Sizes: []int{size}, N: 1}), inAChild(supervisor.Subprocess{}))
				if err != nil {
					b.Fatal(err)
				}
				for range run.Items(b.Context()) {
					break
				}
				b.StopTimer()
				run.Stop()
				b.StartTimer()
			}
		})
	}
}
