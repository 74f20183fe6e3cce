package child

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// parents are programs that start children. They print what they find, and an empty line at the end of it.
func parents() map[string]func(arg string) {
	return map[string]func(string){
		"is child": func(string) { fmt.Println("a child:", Marked()) },
		"parent": func(arg string) {
			for _, mode := range strings.Split(arg, ",") {
				mode, stopped := strings.CutPrefix(mode, "stopped-")
				p, err := Start(Spec{Env: environ(mode)})
				if err != nil {
					fmt.Println(err)
					continue
				}
				if mode != "never enters" {
					_, _ = p.Conn().Write([]byte("x"))
					_, _ = p.Conn().Read(make([]byte, 1))
				}
				if stopped {
					_ = syscall.Kill(p.Pid(), syscall.SIGSTOP)
				}
				fmt.Println(p.Pid())
			}
			fmt.Println()
			select {}
		},
		"without stdin": func(string) {
			_ = os.Stdin.Close()
			_ = syscall.Close(0)
			p, err := Start(Spec{Env: environ("exit:4444")})
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(p.Exit().Text)
			_ = p.Conn().Close()
			_, err = unix.FcntlInt(0, unix.F_GETFD, 0)
			fmt.Println(err)
		},
		"few descriptors": fewDescriptors,
	}
}

// fewDescriptors lets there be from none to enough descriptors free, and says for each what comes of a start.
func fewDescriptors(string) {
	first, err := Start(Spec{Env: environ("exit")}) // opens what is opened once
	if err != nil {
		fmt.Println(err)
		return
	}
	<-first.Exited()
	_ = first.Conn().Close()
	for free := range 24 {
		taken := openFDs()
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(free + taken), Max: 1 << 10})
		p, err := Start(Spec{Env: environ("exit:22")})
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1 << 10, Max: 1 << 10})
		var e *Error
		switch {
		case err == nil:
			fmt.Println("started:", p.Exit().Text)
			_ = p.Conn().Close()
		case errors.Is(err, ErrExhausted) && errors.Is(err, syscall.EMFILE) && errors.As(err, &e):
			fmt.Println("exhausted")
		default:
			fmt.Println("untyped:", err)
		}
		for range 1000 { // the process has released its descriptors before Exited
			if openFDs() == taken {
				break
			}
		}
		if now := openFDs(); now != taken {
			fmt.Println("leak:", taken, now)
		}
	}
}

func openFDs() (n int) {
	for fd := range 1 << 10 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			n++
		}
	}
	return n
}

// parent runs one of parents as a process of its own, and returns what it prints until an empty line or its end.
func parent(t *testing.T, mode string, env ...string) (*exec.Cmd, []string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = slices.Concat(os.Environ(), env, environ(mode))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var lines []string
	for s := bufio.NewScanner(out); s.Scan() && s.Text() != ""; {
		lines = append(lines, s.Text())
	}
	return cmd, lines
}

func TestNoChildOutlivesItsKilledParent(t *testing.T) {
	// This process becomes the parent of all orphans below it, so that none is overlooked.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(how) { // as behind nohup: the parent would inherit that
			t.Logf("%v is ignored here", how)
			continue
		}
		others := len(childrenOf(os.Getpid()))
		cmd, lines := parent(t, "parent:echo,spin,fill,stopped-echo,stopped-spin,stopped-fill,never enters,stopped-never enters")
		if len(lines) != 8 {
			t.Fatal(lines)
		}
		start := time.Now()
		if err := cmd.Process.Signal(how); err != nil {
			t.Fatal(err)
		}
		_, _ = cmd.Process.Wait()
		for _, line := range lines {
			pid, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(line)
			}
			goneWithin(t, pid, time.Second-time.Since(start))
			var status syscall.WaitStatus
			if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
				t.Errorf("%v: %v", pid, err)
			}
		}
		t.Logf("%v: all gone after %v", how, time.Since(start))
		if now := len(childrenOf(os.Getpid())); now > others {
			t.Errorf("%v: %d processes more than before", how, now-others)
		}
	}
}

func TestAParentWithoutStdinHasChildren(t *testing.T) {
	_, lines := parent(t, "without stdin")
	if len(lines) != 2 || lines[0] != "exit status 4" || lines[1] != "bad file descriptor" {
		t.Errorf("%q", lines)
	}
}

func TestWithoutDescriptorsAStartSaysSoAndLeaksNothing(t *testing.T) {
	_, lines := parent(t, "few descriptors")
	var exhausted, started int
	for _, line := range lines {
		switch line {
		case "exhausted":
			exhausted++
		case "started: exit status 2":
			started++
		default:
			t.Error(line)
		}
	}
	t.Logf("%d exhausted, %d started", exhausted, started)
	if exhausted < 5 || started < 1 {
		t.Errorf("%q", lines)
	}
}
