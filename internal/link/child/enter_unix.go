//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// The child's descriptors.
const (
	controlFD = 3
	linkFD    = 4
	filesFD   = 5
)

// maxFiles is how many a marker may speak of.
const maxFiles = 1 << 10

// Marked reports whether this process was started as a child and has not entered yet: it has the marker, and the
// descriptors are what they should be. A marker alone, which somebody has exported, makes no child.
func Marked() bool {
	_, ok := marked()
	return ok
}

func marked() (files int, ok bool) {
	files, err := strconv.Atoi(os.Getenv(marker))
	if err != nil || files < 0 || files > maxFiles {
		return 0, false
	}
	var control, link, file syscall.Stat_t
	if syscall.Fstat(controlFD, &control) != nil || control.Mode&syscall.S_IFMT != syscall.S_IFIFO ||
		syscall.Fstat(linkFD, &link) != nil || link.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return 0, false
	}
	for i := range files {
		if syscall.Fstat(filesFD+i, &file) != nil {
			return 0, false
		}
	}
	kind, err := syscall.GetsockoptInt(linkFD, syscall.SOL_SOCKET, syscall.SO_TYPE)
	if err != nil || kind != syscall.SOCK_STREAM {
		return 0, false
	}
	name, err := syscall.Getsockname(linkFD)
	if _, local := name.(*syscall.SockaddrUnix); err != nil || !local {
		return 0, false
	}
	return files, true
}

// Enter makes this process the child that it was started as. It belongs at the very beginning of main, when Marked says so,
// and succeeds once: the marker is gone then, so that what this process starts is no child. It waits until the parent has
// set the limits. From then on the process exits, with status 0 and without further ado, when the parent ends or asks for
// it, and SIGINT does nothing.
func Enter() (*Child, error) {
	files, ok := marked()
	_ = os.Unsetenv(marker)
	if !ok {
		return nil, &Error{"enter", ErrNotChild}
	}
	for fd := controlFD; fd < filesFD+files; fd++ {
		syscall.CloseOnExec(fd)
	}
	// Caught and not ignored: what this process starts does not inherit that.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	program, _, _ := strings.Cut(os.Args[0], ":")
	name(program)

	_ = syscall.SetNonblock(controlFD, true) // so that it keeps no thread waiting
	control := os.NewFile(controlFD, "control")
	await(control)
	// Owner: the process, with which it ends. Nobody waits for it: at the end of the pipe it ends the process.
	go func() {
		for {
			await(control)
		}
	}()

	c := &Child{}
	link := os.NewFile(linkFD, "link")
	defer link.Close() // FileConn makes a copy
	var err error
	if c.conn, err = net.FileConn(link); err != nil {
		return nil, &Error{"make a connection", err}
	}
	for i := range files {
		c.files = append(c.files, os.NewFile(uintptr(filesFD+i), "file "+strconv.Itoa(i)))
	}
	return c, nil
}

// await waits for a byte of the parent, and ends the process if none will come.
func await(control *os.File) {
	if _, err := control.Read(make([]byte, 1)); err != nil {
		os.Exit(0)
	}
}
