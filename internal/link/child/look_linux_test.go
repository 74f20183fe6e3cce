package child

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func look(c *Child) sight {
	s := sight{Args: os.Args, Env: os.Environ(), MaxProcs: runtime.GOMAXPROCS(0), NumCPU: runtime.NumCPU(),
		MemLimit: debug.SetMemoryLimit(-1), Group: syscall.Getpgrp(), StillMarked: Marked()}
	var data unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_DATA, &data)
	s.Data = data.Cur
	tasks, _ := filepath.Glob("/proc/self/task/*")
	for _, task := range tasks {
		tid, _ := strconv.Atoi(filepath.Base(task))
		if n, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil {
			s.Nice = append(s.Nice, 20-n)
		}
	}
	s.Stdin, _ = os.Readlink("/proc/self/fd/0")
	b, _ := io.ReadAll(os.Stdin)
	s.StdinBytes = len(b)
	for _, f := range c.Files() {
		b, _ := io.ReadAll(f)
		s.Files = append(s.Files, string(b))
	}
	s.Inherited = handedDown()
	if _, err := Enter(); err != nil {
		s.EnterAgain = err.Error()
	}
	comm, _ := os.ReadFile("/proc/self/comm")
	s.Comm = strings.TrimSpace(string(comm))
	return s
}

// handedDown are the descriptors that what this process starts would inherit.
func handedDown() (fds []int) {
	for fd := 3; fd < 64; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			fds = append(fds, fd)
		}
	}
	return fds
}
