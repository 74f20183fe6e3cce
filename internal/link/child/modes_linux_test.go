package child

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

// modeVar says what a copy of the test's program does: the name of one of modes, a colon, and its argument.
const modeVar = "CHILD_TEST"

func TestMain(m *testing.M) {
	mode, arg, _ := strings.Cut(os.Getenv(modeVar), ":")
	if parent := parents()[mode]; parent != nil && !Marked() {
		parent(arg)
		os.Exit(0)
	}
	if run := strangers()[mode]; run != nil {
		run()
		os.Exit(0)
	}
	if Marked() {
		c, err := Enter()
		if err != nil {
			log.Fatal(err)
		}
		modes()[mode](c, arg)
		os.Exit(0)
	}
	if mode != "" {
		log.Fatalf("there is no mode %q", mode)
	}
	os.Exit(m.Run())
}

// strangers are children that never enter.
func strangers() map[string]func() {
	return map[string]func(){
		"garbage": func() {
			for range 1000 {
				_, _ = os.Stdout.Write([]byte("\x00\xff\x1b[2J garbage \xf0\x28\n"))
			}
			_, _ = syscall.Write(linkFD, []byte("garbage"))
		},
		"never enters": func() { _ = syscall.Pause() },
		"exits":        func() { os.Exit(7) },
	}
}

// modes are the lives of children that have entered.
func modes() map[string]func(c *Child, arg string) {
	return map[string]func(*Child, string){
		"exit":  func(_ *Child, arg string) { os.Exit(len(arg)) },
		"fatal": func(*Child, string) { log.Fatal("this is log.Fatal") },
		"panic": func(*Child, string) {
			go func() { panic("this is a panic") }()
			select {}
		},
		"dump": func(*Child, string) { // more stacks than the tail has room for
			debug.SetTraceback("all")
			for range 2000 {
				go func() { select {} }()
			}
			runtime.Gosched()
			go func() { panic("this is a panic") }()
			select {}
		},
		"overflow": func(*Child, string) {
			debug.SetMaxStack(1 << 20)
			fmt.Println(overflow(0))
		},
		"map":  func(*Child, string) { writeTogether() },
		"lock": func(*Child, string) { select {} }, // ends by the end of the control pipe only: Enter's goroutine waits for it
		"kill": func(_ *Child, arg string) {
			var n int
			_, _ = fmt.Sscan(arg, &n)
			signal.Reset(syscall.Signal(n))
			_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
			select {}
		},
		"interrupted": func(c *Child, _ string) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
			_, _ = c.Conn().Write([]byte("alive"))
			select {}
		},
		"echo":   func(c *Child, _ string) { _, _ = io.Copy(c.Conn(), c.Conn()) },
		"report": func(c *Child, _ string) { _ = json.NewEncoder(c.Conn()).Encode(look(c)) },
		"spin": func(c *Child, _ string) {
			_, _ = c.Conn().Write([]byte("x"))
			for range 2 * runtime.GOMAXPROCS(0) {
				go spin()
			}
			spin()
		},
		"fill": func(c *Child, _ string) { // a pipe that nobody reads
			for {
				_, _ = c.Conn().Write(make([]byte, 1<<10))
			}
		},
		"flood": func(_ *Child, arg string) {
			var n int
			_, _ = fmt.Sscan(arg, &n)
			b := bytes.Repeat(append(bytes.Repeat([]byte("flood "), 20), '\n'), 500)
			for range n {
				_, _ = os.Stderr.Write(b)
			}
		},
		"lines": func(_ *Child, arg string) {
			var n int
			_, _ = fmt.Sscan(arg, &n)
			for i := range n {
				fmt.Println("line", i)
			}
			fmt.Fprint(os.Stderr, "and no end")
		},
		"family": func(c *Child, _ string) { // a grandchild that holds the pipes
			grandchild, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{
				Files: []*os.File{nil, os.Stdout, os.Stderr}})
			if err != nil {
				log.Fatal(err)
			}
			_ = json.NewEncoder(c.Conn()).Encode(grandchild.Pid)
			os.Exit(5)
		},
		"again": func(c *Child, _ string) { // a grandchild of the same program, with all that is inherited
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), environ("is child")...)
			cmd.Stdout = c.Conn()
			if err := cmd.Run(); err != nil {
				log.Fatal(err)
			}
		},
	}
}

// A sight is what a child sees of itself.
type sight struct {
	Args        []string
	Env         []string
	MaxProcs    int
	NumCPU      int
	MemLimit    int64
	Data        uint64 // RLIMIT_DATA
	Nice        []int  // of all threads
	Stdin       string
	StdinBytes  int
	Group       int
	Files       []string // what they hold
	Inherited   []int    // descriptors that are not closed on exec, but 0, 1, 2
	StillMarked bool
	EnterAgain  string
	Comm        string
}

// overflow calls itself until the stack is full.
func overflow(n int) int {
	if n < 0 {
		return 0
	}
	return overflow(n+1) + 1
}

// spin lets nobody else have the processor.
func spin() {
	for n := 0; ; n++ {
		if n < 0 {
			n = 0
		}
	}
}

func writeTogether() {
	m := map[int]int{}
	for g := range 8 {
		go func() {
			for {
				m[g]++
			}
		}()
	}
	select {}
}

// environ makes a child of a mode. Under the race detector a process waits for a second before it exits, if not told otherwise.
func environ(mode string) []string { return []string{modeVar + "=" + mode, "GORACE=atexit_sleep_ms=0"} }

// started starts a child in a mode, which is killed at the end of the test.
func started(t *testing.T, mode string, spec Spec) *Process {
	t.Helper()
	spec.Env = append(environ(mode), spec.Env...)
	p, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Exited()
		_ = p.Conn().Close()
	})
	return p
}

// answer reads what a child says until it closes the connection.
func answer(t *testing.T, p *Process, v any) {
	t.Helper()
	if err := json.NewDecoder(p.Conn()).Decode(v); err != nil {
		p.Kill()
		e := p.Exit()
		t.Fatalf("%v; the child: %s\n%s", err, e.Text, e.Tail)
	}
}
