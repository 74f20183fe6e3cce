//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package child

import (
	"net"
	"os"
	"syscall"
)

// Supported says whether this system can have children: nil, or an error with ErrUnsupported in its chain.
func Supported() error { return &Error{"start", ErrUnsupported} }

// Marked reports whether this process was started as a child.
func Marked() bool { return false }

// Enter returns ErrUnsupported here.
func Enter() (*Child, error) { return nil, &Error{"enter", ErrUnsupported} }

// What follows is never called: Start ends where Supported says no.

type descriptors struct {
	conn                    net.Conn
	control, stdout, stderr *os.File
}

func openDescriptors() (*descriptors, error)       { return nil, Supported() }
func (*descriptors) theirs() []*os.File            { return nil }
func (*descriptors) closeTheirs()                  {}
func (*descriptors) closeOurs()                    {}
func exhausted(error) bool                         { return false }
func executable() string                           { return "" }
func attributes() *syscall.SysProcAttr             { return nil }
func mainThread() bool                             { return false }
func changesThread(*Spec) bool                     { return false }
func prepareThread(*Spec) error                    { return Supported() }
func limit(int, *Spec) error                       { return Supported() }
func killGroup(p *os.Process)                      { _ = p.Kill() }
func exitOf(s *os.ProcessState) Exit               { return Exit{Text: s.String(), Code: s.ExitCode()} }
func readNow(*os.File, []byte) int                 { return 0 }
func (p *Process) reap() (*os.ProcessState, error) { return p.os.Wait() }
