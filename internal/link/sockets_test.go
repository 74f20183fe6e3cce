//go:build unix

package link_test

import (
	"net"
	"os"
	"syscall"
	"testing"
)

// socketpair is a pair of connected unix sockets, as a child gets one of.
func socketpair(t testing.TB) (here, there net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := [2]net.Conn{}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socketpair")
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return ends[0], ends[1]
}
