package child

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// A Process is a child, seen by its parent. All methods may be called at any time, by any goroutine.
type Process struct {
	conn    net.Conn
	control *os.File
	output  *output
	exited  chan struct{}
	exit    Exit          // written before exited is closed
	reaped  chan struct{} // closed when the thread that started the child is needed no more

	mu   sync.Mutex
	os   *os.Process // set once, before Start returns
	gone bool        // its number may be somebody else's; guarded by mu
}

// An Exit is how a child ended.
type Exit struct {
	Text    string         // "exit status 3", "signal: killed", "signal: aborted (core dumped)"
	Code    int            // as given to os.Exit; -1 if a signal ended it
	Signal  syscall.Signal // that ended it; 0: none did
	Core    bool           // it left a core dump
	Tail    []byte         // the last 64 KiB of its stderr; if a crash's beginning lies before them, that and a little less
	Dropped int            // lines that Spec.Output was too slow for
	Usage   Usage
}

// Usage is what a child, and what it had waited for, used in its life.
type Usage struct {
	User, System time.Duration // of processors
	MaxRSSBytes  int64         // the most memory at once
}

// Start starts this program again, as a child. It takes a few milliseconds, and returns when the child runs with all its
// limits; the child may then not have called Enter yet, and never do so.
//
// The caller closes the process's Conn, and ends its life with End or Kill. An error is an *Error, or has ErrSpec in its
// chain; there is then no process.
func Start(spec Spec) (*Process, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	if err := spec.check(); err != nil {
		return nil, err
	}
	d, err := openDescriptors()
	if err != nil {
		return nil, err
	}
	defer d.closeTheirs()
	p := &Process{conn: d.conn, control: d.control, exited: make(chan struct{}), reaped: make(chan struct{})}
	p.output = newOutput(d.stdout, d.stderr, spec.Output)
	started := make(chan error, 1)
	attr := &os.ProcAttr{Env: spec.environment(os.Environ()), Files: append(d.theirs(), spec.Files...), Sys: attributes()}
	// Owner: the Process. Ends when the child has been reaped. It closes exited, for which the Process's user waits.
	go p.keep(&spec, attr, started)
	if err := <-started; err != nil {
		d.closeOurs()
		return nil, err
	}
	p.output.start()
	// Owner: the Process. Ends when the child has been reaped, and its output read. keep waits for it.
	go p.attend()
	if err := limit(p.os.Pid, &spec); err != nil {
		p.Kill()
		<-p.exited
		_ = p.conn.Close()
		return nil, err
	}
	// The child may enter. If it is dead already, Exited tells.
	_, _ = p.control.Write([]byte{entered})
	return p, nil
}

// entered is what the control pipe carries when the child has its limits.
const entered = 1

// keep starts the child on a thread of its own, and keeps the thread for as long as the child lives.
func (p *Process) keep(spec *Spec, attr *os.ProcAttr, started chan<- error) {
	runtime.LockOSThread()
	if mainThread() {
		// Its niceness is what is shown of the whole program, and Go never ends it: another thread, then. While this
		// goroutine has the main thread, the other one cannot get it.
		other := make(chan error, 1)
		// Owner: the Process. Ends as keep does. It closes exited, for which the Process's user waits.
		go p.keep(spec, attr, other)
		started <- <-other
		runtime.UnlockOSThread()
		return
	}
	err := prepareThread(spec)
	if err == nil {
		if p.os, err = os.StartProcess(executable(), []string{title()}, attr); err != nil {
			err = &Error{"start", err}
		}
	}
	started <- err
	if err == nil {
		<-p.reaped
		defer close(p.exited)
	}
	if !changesThread(spec) {
		runtime.UnlockOSThread()
	} // else the thread, which has the child's niceness and processors, ends with this goroutine
}

// title is what a list of processes shows.
func title() string { return filepath.Base(os.Args[0]) + ": child" }

// attend waits for the child's death, and for what it has left in its pipes.
func (p *Process) attend() {
	state, err := p.reap()
	p.output.finish()
	p.End()
	if err != nil {
		// Somebody else has reaped it: whoever waits for any child, or ignores SIGCHLD.
		p.exit = Exit{Text: "unknown: " + err.Error(), Code: -1}
	} else {
		p.exit = exitOf(state)
	}
	p.exit.Tail = p.output.tail.bytes()
	p.exit.Dropped = p.output.lost()
	close(p.reaped)
}

// Conn returns this side's end of the connection. It stays open when the child has died, for what it had sent to be read.
func (p *Process) Conn() net.Conn { return p.conn }

// Pid returns the child's number, which may be somebody else's once Exited is closed.
func (p *Process) Pid() int { return p.os.Pid }

// Exited is closed when the child is dead and reaped, and what it has printed was given to Spec.Output. If Output
// takes more than 25 ms for that, Exited is closed, what is left is dropped, and the call that runs is the last.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit says how the child ended. It waits until Exited is closed.
func (p *Process) Exit() Exit {
	<-p.exited
	return p.exit
}

// Kill sends SIGKILL to the child and its process group. It does not wait, and does nothing to a child that has exited.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		killGroup(p.os)
	}
}

// End asks the child to go: it exits as soon as it hears of it, if it has entered and is not stopped.
func (p *Process) End() { _ = p.control.Close() }
