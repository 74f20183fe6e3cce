package child

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Errors that Start and Enter have in their chains.
var (
	// ErrUnsupported says that this system has no child processes, or not what the Spec asks for.
	ErrUnsupported = errors.New("not supported on this system")
	// ErrSpec says that the Spec is wrong.
	ErrSpec = errors.New("bad specification of a child process")
	// ErrExhausted says that the system has no descriptors, processes or memory left. Later it may have.
	ErrExhausted = errors.New("the system has no room for a child process")
	// ErrNotChild says that this process was not started by Start, or that Enter was called before.
	ErrNotChild = errors.New("this process is no child")
)

// An Error says at which step a child could not be started.
type Error struct {
	Step string // what was tried: "make a pipe"
	Err  error  // mostly a syscall.Errno, or wraps one
}

func (e *Error) Error() string { return "child process: " + e.Step + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Is makes what means that the system is full ErrExhausted.
func (e *Error) Is(target error) bool { return target == ErrExhausted && exhausted(e.Err) }

// A Spec says what a child gets. Its zero value is a child like its parent.
type Spec struct {
	Nice        int               // added to the parent's niceness, -20 to 19; less than 0 needs a privilege
	CPUs        []int             // that it may run on, from 0; none: as the parent
	MaxProcs    int               // its GOMAXPROCS; 0: as the environment says, or what the runtime finds out
	MemoryBytes int64             // its GOMEMLIMIT, and 256 MiB more are its RLIMIT_DATA, over which it dies; 0: no limit
	Env         []string          // "NAME=value", added to what every child is given; not for secrets
	Files       []*os.File        // further descriptors; they stay the caller's, who must not close them before Start returns
	Output      func(line []byte) // told each line of stdout and stderr, one call at a time; see Process.Exited
}

// memorySlackBytes is what a child may have beside Go's heap before the system refuses it more: stacks, the program's data,
// what C code allocates.
const memorySlackBytes = 256 << 20

// maxCPU is one more than the largest number of a processor in the system's set of 1024.
const maxCPU = 1024

// check finds what is wrong without asking the system.
func (s *Spec) check() error {
	switch {
	case s.Nice < -20 || s.Nice > 19:
		return fmt.Errorf("%w: Nice is %d, not -20 to 19", ErrSpec, s.Nice)
	case s.MaxProcs < 0:
		return fmt.Errorf("%w: MaxProcs is %d", ErrSpec, s.MaxProcs)
	case s.MemoryBytes < 0:
		return fmt.Errorf("%w: MemoryBytes is %d", ErrSpec, s.MemoryBytes)
	}
	for _, cpu := range s.CPUs {
		if cpu < 0 || cpu >= maxCPU {
			return fmt.Errorf("%w: there is no processor %d", ErrSpec, cpu)
		}
	}
	for _, v := range s.Env {
		// The value is not in the message: it may be one that should not be seen.
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.ContainsRune(v, 0) || name == marker {
			return fmt.Errorf("%w: Env has no variable for a child in %q", ErrSpec, name)
		}
	}
	if slices.Contains(s.Files, nil) {
		return fmt.Errorf("%w: nil in Files", ErrSpec)
	}
	return nil
}

// marker is the variable that makes a process a child. Its value is how many Files there are.
const marker = "WEIR_CHILD"

// environment is what the child of a process with the variables own gets: those of a list, then what the Spec adds.
func (s *Spec) environment(own []string) []string {
	var env []string
	set := func(v string) {
		name, _, _ := strings.Cut(v, "=")
		env = slices.DeleteFunc(env, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		env = append(env, v)
	}
	for _, v := range own {
		if name, _, _ := strings.Cut(v, "="); inherited(name) {
			set(v)
		}
	}
	if s.MaxProcs > 0 {
		set("GOMAXPROCS=" + strconv.Itoa(s.MaxProcs))
	}
	if s.MemoryBytes > 0 {
		set("GOMEMLIMIT=" + strconv.FormatInt(s.MemoryBytes, 10))
	}
	for _, v := range s.Env {
		set(v)
	}
	return append(env, marker+"="+strconv.Itoa(len(s.Files)))
}

// inherited reports whether every child gets the variable. All others may be secrets.
func inherited(name string) bool {
	switch name {
	case "PATH", "HOME", "TMPDIR", "LANG", "TZ", "GOMAXPROCS", "GOMEMLIMIT", "GODEBUG", "GOTRACEBACK", "GORACE":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "SSL_CERT_")
}
