//go:build unix

package main

import (
	"net"
	"os"
	"syscall"
)

// sockets returns both ends of a pair of sockets.
func sockets() (here, there net.Conn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			return nil, nil, err
		}
		ends[i] = c
	}
	return ends[0], ends[1], nil
}
