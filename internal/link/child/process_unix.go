//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// exhausted reports whether err says that the system, or this process's share of it, is full.
func exhausted(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.ENOSPC, syscall.ENOBUFS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// descriptors are both ends of all that joins a child to its parent. In this process all are closed on exec: a copy of an
// end in another child would keep it open.
type descriptors struct {
	conn                    net.Conn
	control, stdout, stderr *os.File // ours

	null, out, errs, life, link *os.File // the child's 0 to 4
}

// openDescriptors makes all of them, or none.
func openDescriptors() (*descriptors, error) {
	d := &descriptors{}
	if err := d.open(); err != nil {
		d.closeOurs()
		d.closeTheirs()
		return nil, err
	}
	return d, nil
}

func (d *descriptors) open() (err error) {
	if d.null, err = os.Open(os.DevNull); err != nil {
		return &Error{"open " + os.DevNull, err}
	}
	for _, pipe := range []struct{ r, w **os.File }{{&d.stdout, &d.out}, {&d.stderr, &d.errs}, {&d.life, &d.control}} {
		if *pipe.r, *pipe.w, err = os.Pipe(); err != nil {
			return &Error{"make a pipe", err}
		}
	}
	ours, theirs, err := socketpair()
	if err != nil {
		return &Error{"make a socket pair", err}
	}
	d.link = os.NewFile(uintptr(theirs), "link")
	end := os.NewFile(uintptr(ours), "link")
	defer end.Close() // FileConn makes a copy
	if d.conn, err = net.FileConn(end); err != nil {
		return &Error{"make a connection", err}
	}
	return nil
}

// theirs are the child's descriptors from 0.
func (d *descriptors) theirs() []*os.File {
	return []*os.File{d.null, d.out, d.errs, d.life, d.link}
}

func (d *descriptors) closeTheirs() {
	for _, f := range d.theirs() {
		_ = f.Close() // nil is os.ErrInvalid
	}
}

// closeOurs is for a child that could not be started.
func (d *descriptors) closeOurs() {
	for _, f := range []*os.File{d.control, d.stdout, d.stderr} {
		_ = f.Close()
	}
	if d.conn != nil {
		_ = d.conn.Close()
	}
}

// readNow reads what is there, whatever f's deadline: at the end, and when nothing is there, 0 or less.
func readNow(f *os.File, b []byte) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	if err := raw.Control(func(fd uintptr) {
		for err = syscall.EINTR; err == syscall.EINTR; {
			n, err = syscall.Read(int(fd), b)
		}
	}); err != nil {
		return 0
	}
	return n
}

// killGroup kills a process that nobody has reaped, and its group. The group has its leader's number, which is not given to
// others before the leader is reaped.
func killGroup(p *os.Process) {
	if p.Kill() == nil {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}

func exitOf(state *os.ProcessState) Exit {
	e := Exit{Text: state.String(), Code: state.ExitCode(), Usage: Usage{User: state.UserTime(), System: state.SystemTime()}}
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		e.Signal, e.Core = s.Signal(), s.CoreDump()
	}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		e.Usage.MaxRSSBytes = int64(r.Maxrss) * maxRSSUnit
	}
	return e
}
