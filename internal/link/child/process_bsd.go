//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package child

import (
	"fmt"
	"os"
	"syscall"
)

// Supported says whether this system can have children: nil, or an error with ErrUnsupported in its chain.
func Supported() error {
	if _, err := os.Executable(); err != nil {
		return &Error{"find this program", fmt.Errorf("%w: %w", ErrUnsupported, err)}
	}
	return nil
}

// executable is this program's file, or what has replaced it.
func executable() string {
	path, _ := os.Executable() // Supported has asked
	return path
}

func socketpair() (ours, theirs int, err error) {
	syscall.ForkLock.RLock() // no child is started between the two calls
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, 0, os.NewSyscallError("socketpair", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func mainThread() bool { return false }

func changesThread(*Spec) bool { return false }

// prepareThread refuses what these systems do not have.
func prepareThread(s *Spec) error {
	if len(s.CPUs) > 0 {
		return &Error{"set the processors", ErrUnsupported}
	}
	return nil
}

// limit sets what concerns the whole process. The child waits for it in Enter. There is no RLIMIT_DATA for others.
func limit(pid int, s *Spec) error {
	if s.Nice == 0 {
		return nil
	}
	now, err := syscall.Getpriority(syscall.PRIO_PROCESS, pid)
	if err == nil {
		err = syscall.Setpriority(syscall.PRIO_PROCESS, pid, max(-20, min(now+s.Nice, 19)))
	}
	if err != nil && err != syscall.ESRCH {
		return &Error{fmt.Sprintf("add %d to the niceness", s.Nice), err}
	}
	return nil
}

// reap waits for the child's death and lets it go. What is left of its group lives on: once the child is reaped, its number
// may be somebody else's.
func (p *Process) reap() (*os.ProcessState, error) {
	state, err := p.os.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	return state, err
}

// name does nothing: the program's file has the right name already.
func name(string) {}
