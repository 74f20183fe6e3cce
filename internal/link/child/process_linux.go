package child

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxRSSUnit is in bytes what ru_maxrss counts, getrusage(2).
const maxRSSUnit = 1 << 10

// Supported says whether this system can have children: nil, or an error with ErrUnsupported in its chain.
func Supported() error {
	if _, err := os.Stat(executable()); err != nil {
		return &Error{"find this program", fmt.Errorf("%w: %w", ErrUnsupported, err)}
	}
	return nil
}

// executable is this program, also when its file has been replaced or deleted.
func executable() string { return "/proc/self/exe" }

func socketpair() (ours, theirs int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return fds[0], fds[1], os.NewSyscallError("socketpair", err)
}

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func mainThread() bool { return unix.Gettid() == os.Getpid() }

// changesThread reports whether prepareThread leaves the thread unfit for others.
func changesThread(s *Spec) bool { return s.Nice != 0 || len(s.CPUs) > 0 }

// prepareThread gives this thread the niceness and the processors that the child inherits, so that it has them from its
// first instruction and with all its threads.
func prepareThread(s *Spec) error {
	if len(s.CPUs) > 0 {
		var want, have unix.CPUSet
		for _, cpu := range s.CPUs {
			want.Set(cpu)
		}
		if err := unix.SchedSetaffinity(0, &want); err != nil {
			return &Error{"set the processors", fmt.Errorf("%w: of %v: %w", ErrSpec, s.CPUs, err)}
		}
		if err := unix.SchedGetaffinity(0, &have); err != nil {
			return &Error{"set the processors", err}
		}
		for _, cpu := range s.CPUs {
			if !have.IsSet(cpu) { // the system takes those that it has
				return &Error{"set the processors", fmt.Errorf("%w: there is no processor %d for this process", ErrSpec, cpu)}
			}
		}
	}
	if s.Nice != 0 {
		now, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		if err == nil { // the system call returns 20 - niceness, getpriority(2)
			err = unix.Setpriority(unix.PRIO_PROCESS, 0, max(-20, min(20-now+s.Nice, 19)))
		}
		if err != nil {
			return &Error{fmt.Sprintf("add %d to the niceness", s.Nice), err}
		}
	}
	return nil
}

// limit sets what a thread cannot hand down. The child waits for it in Enter.
func limit(pid int, s *Spec) error {
	if s.MemoryBytes == 0 {
		return nil
	}
	var now unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_DATA, nil, &now)
	if err == nil {
		want := min(uint64(s.MemoryBytes)+memorySlackBytes, now.Max)
		err = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: want, Max: want}, nil)
	}
	if err == unix.ESRCH {
		return nil // it is dead already, which Exited tells
	}
	if err != nil {
		return &Error{"limit the memory", err}
	}
	return nil
}

// reap waits for the child's death, kills what is left of its group while its number is still its own, and lets it go.
func (p *Process) reap() (*os.ProcessState, error) {
	for unix.Waitid(unix.P_PID, p.os.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.os)
	state, err := p.os.Wait()
	p.gone = true
	return state, err
}

// name makes the child appear as its program, and not as "exe".
func name(program string) {
	_ = os.WriteFile("/proc/self/comm", []byte(program), 0)
}
