package child

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAChildsDeathIsTold(t *testing.T) {
	for _, c := range []struct {
		mode   string
		text   string
		code   int
		signal syscall.Signal
		tail   string
	}{
		{mode: "exit", text: "exit status 0"},
		{mode: "exit:333", text: "exit status 3", code: 3},
		{mode: "fatal", text: "exit status 1", code: 1, tail: "this is log.Fatal"},
		{mode: "panic", text: "exit status 2", code: 2, tail: "panic: this is a panic"},
		{mode: "dump", text: "exit status 2", code: 2, tail: "panic: this is a panic"},
		{mode: "overflow", text: "exit status 2", code: 2, tail: "goroutine stack exceeds"},
		{mode: "map", text: "exit status 2", code: 2, tail: "fatal error: concurrent map"},
		{mode: "kill:9", text: "signal: killed", code: -1, signal: syscall.SIGKILL},
		{mode: "kill:15", text: "signal: terminated", code: -1, signal: syscall.SIGTERM},
		{mode: "garbage", text: "exit status 0"},
		{mode: "exits", text: "exit status 7", code: 7},
	} {
		t.Run(c.mode, func(t *testing.T) {
			before := census(t)
			spec := Spec{}
			if c.mode == "map" {
				spec.Env = []string{"GORACE=atexit_sleep_ms=0 log_path=/dev/null"}
			}
			p := started(t, c.mode, spec)
			within(t, p.Exited(), 30*time.Second, "the death")
			e := p.Exit()
			if e.Text != c.text || e.Code != c.code || e.Signal != c.signal {
				t.Errorf("it ended as %q, code %d, signal %d; want %q, %d, %d\n%s", e.Text, e.Code, e.Signal, c.text, c.code, c.signal, e.Tail)
			}
			if !bytes.Contains(e.Tail, []byte(c.tail)) || len(e.Tail) > tailBytes {
				t.Errorf("%d bytes of tail, without %q:\n%.2000s", len(e.Tail), c.tail, e.Tail)
			}
			if e.Usage.MaxRSSBytes < 1<<20 || e.Usage.User+e.Usage.System <= 0 {
				t.Errorf("usage %+v", e.Usage)
			}
			p.Kill() // long after
			p.End()
			_ = p.Conn().Close()
			before.sameAgain(t)
		})
	}
}

func TestAChildThatEndsOnlyWhenAskedDoes(t *testing.T) {
	for _, mode := range []string{"lock", "spin", "fill", "echo"} {
		p := started(t, mode, Spec{})
		p.End()
		within(t, p.Exited(), 10*time.Second, mode)
		if e := p.Exit(); e.Text != "exit status 0" {
			t.Errorf("%s: %s\n%s", mode, e.Text, e.Tail)
		}
	}
}

func TestAKillReachesAChildThatNeverEnters(t *testing.T) {
	p := started(t, "never enters", Spec{})
	p.End()
	p.Kill()
	within(t, p.Exited(), 10*time.Second, "the death")
	if e := p.Exit(); e.Text != "signal: killed" {
		t.Error(e.Text)
	}
}

func TestAnInterruptDoesNothingToAChild(t *testing.T) {
	p := started(t, "interrupted", Spec{})
	b := make([]byte, 5)
	if _, err := io.ReadFull(p.Conn(), b); err != nil || string(b) != "alive" {
		t.Errorf("%q, %v", b, err)
	}
	if err := syscall.Kill(p.Pid(), syscall.SIGINT); err != nil {
		t.Error(err)
	}
	p.End()
	if e := p.Exit(); e.Text != "exit status 0" {
		t.Error(e.Text)
	}
}

func TestAStoppedChildIsNotDeadAndIsKilledAllTheSame(t *testing.T) {
	p := started(t, "echo", Spec{})
	echo(t, p)
	if err := syscall.Kill(p.Pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Exited():
		t.Fatal("it was taken for dead")
	case <-time.After(100 * time.Millisecond):
	}
	if err := syscall.Kill(p.Pid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	echo(t, p)
	if err := syscall.Kill(p.Pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	within(t, p.Exited(), 10*time.Second, "the death")
}

func TestADeathIsKnownWithin50Milliseconds(t *testing.T) {
	var took []time.Duration
	for range 21 {
		p := started(t, "echo", Spec{})
		echo(t, p)
		start := time.Now()
		p.Kill()
		<-p.Exited()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("median %v, longest %v", took[10], took[20])
	if took[10] > 50*time.Millisecond {
		t.Errorf("median %v", took[10])
	}
}

func TestWhatAChildHasStartedGoesWithIt(t *testing.T) {
	if _, err := os.Stat("/bin/sleep"); err != nil {
		t.Skip(err)
	}
	p := started(t, "family", Spec{})
	var pid int
	answer(t, p, &pid)
	within(t, p.Exited(), 10*time.Second, "the death")
	if e := p.Exit(); e.Code != 5 {
		t.Error(e.Text)
	}
	goneWithin(t, pid, time.Second)
}

func TestManyKilledChildrenLeaveNothing(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 30
	}
	p := started(t, "exit", Spec{}) // what is made once
	<-p.Exited()
	_ = p.Conn().Close()
	before := census(t)
	start := time.Now()
	var spawn time.Duration
	for i := range n {
		spec := Spec{Env: environ("fill"), Output: func([]byte) {}}
		if i%3 == 0 {
			spec.Nice, spec.CPUs = 1, []int{i / 3 % runtime.NumCPU()}
		}
		s := time.Now()
		p, err := Start(spec)
		if err != nil {
			t.Fatal(err)
		}
		spawn += time.Since(s)
		if i%2 == 0 {
			_, _ = p.Conn().Read(make([]byte, 1))
		}
		var together sync.WaitGroup
		for range i % 4 {
			together.Go(p.Kill)
		}
		p.Kill()
		within(t, p.Exited(), 10*time.Second, "the death")
		together.Wait()
		_ = p.Conn().Close()
		if e := p.Exit(); e.Signal != syscall.SIGKILL {
			t.Fatal(e.Text)
		}
	}
	t.Logf("%v for each, %v of it in Start", time.Since(start)/time.Duration(n), spawn/time.Duration(n))
	before.sameAgain(t)
}

func TestAChildLivesOnWhenTheThreadOfItsStarterEnds(t *testing.T) {
	for range 30 {
		var p *Process
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			var err error
			if p, err = Start(Spec{Env: environ("echo")}); err != nil {
				t.Error(err)
			}
		}()
		<-done
		if p == nil {
			return
		}
		threadGone(t)
		echo(t, p)
		p.End()
		if e := p.Exit(); e.Text != "exit status 0" {
			t.Errorf("it ended as %q", e.Text)
		}
		_ = p.Conn().Close()
	}
}

// threadGone lets a thread start and end, which then has done so after any thread that was to end before.
func threadGone(t *testing.T) {
	t.Helper()
	tid := os.Getpid()
	for tid == os.Getpid() { // the main thread is parked and never ends
		took := make(chan int)
		go func() {
			runtime.LockOSThread()
			took <- unix.Gettid()
		}()
		tid = <-took
	}
	path := "/proc/self/task/" + strconv.Itoa(tid)
	eventually(t, "a thread ends", func() bool { _, err := os.Stat(path); return err != nil })
}

func TestNoThreadOfTheParentKeepsTheNicenessOfAChild(t *testing.T) {
	before, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		p := started(t, "exit", Spec{Nice: 5, CPUs: []int{0}})
		<-p.Exited()
	}
	if after, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid()); err != nil || after != before {
		t.Errorf("the main thread's niceness was %d and is %d, %v", 20-before, 20-after, err)
	}
	eventually(t, "the threads with another niceness end", func() bool {
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			tid, _ := strconv.Atoi(task.Name())
			if n, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil && n != before {
				return false
			}
		}
		return true
	})
}

// echo makes sure that the child has entered, and lives.
func echo(t *testing.T, p *Process) {
	t.Helper()
	b := []byte("hello")
	_ = p.Conn().SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := p.Conn().Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(p.Conn(), b); err != nil {
		p.Kill()
		e := p.Exit()
		t.Fatalf("%v; %s\n%s", err, e.Text, e.Tail)
	}
}

// A count is what a process has that may leak.
type count struct{ descriptors, goroutines, children int }

func census(t *testing.T) count {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return count{len(fds), runtime.NumGoroutine(), len(childrenOf(os.Getpid()))}
}

func (c count) sameAgain(t *testing.T) {
	t.Helper()
	eventually(t, "nothing is left over", func() bool {
		now := census(t)
		return now.descriptors <= c.descriptors && now.goroutines <= c.goroutines && now.children <= c.children
	})
}

// childrenOf lists children, zombies too.
func childrenOf(pid int) (children []int) {
	all, _ := os.ReadDir("/proc")
	for _, d := range all {
		child, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + d.Name() + "/stat")
		_, rest, _ := strings.Cut(string(stat), ") ") // the program's name is in parentheses before
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(pid) {
			children = append(children, child)
		}
	}
	return children
}

// eventually waits until ok, which asks for something that nobody tells.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(10 * time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-late:
			stacks := make([]byte, 1<<16)
			t.Fatalf("not after 10 s: %s\n%s", what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func within(t *testing.T, done <-chan struct{}, d time.Duration, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("%s: not after %v", what, d)
	}
}

// goneWithin waits for the end of a process, which need not be a child of this one. Its zombie is gone too.
func goneWithin(t *testing.T, pid int, d time.Duration) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if n != 1 {
			t.Errorf("process %d lives after %v", pid, d)
		}
		return
	}
}
