package actors

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// errGoexit is the reason of an incarnation that ended by runtime.Goexit.
var errGoexit = errors.New("actors: user code called runtime.Goexit")

// A mailbox is an actor's queue and goroutine, behind protoactor's Mailbox interface.
//
// The actor has one goroutine for its whole life, parked on a condition while it is idle: no `go` per wake-up, as
// protoactor's default mailbox pays, and no spinning, as its bounded one does. There are three lanes: protoactor's
// system messages, control, data. The lanes are bounded by what is sent: data by credit, control by the number of
// workers and edges.
type mailbox struct {
	mu             sync.Mutex
	cond           sync.Cond
	sys, ctl, data []any       // guarded by mu
	parked, closed bool        // guarded by mu
	resting        bool        // guarded by mu: there is no goroutine yet
	urgent         atomic.Bool // sys is not empty

	// owned by the loop
	invoker   actor.MessageInvoker
	suspended bool
	starting  bool    // in Start: return instead of parking
	stopped   bool    // the actor has stopped: what is left is for the dead letters
	cur       [2]lane // being worked off: control, data

	begun func()    // called first of all in the goroutine; nil: nobody
	ended func()    // called when the goroutine has ended for good
	dead  func(any) // takes what was never handled
}

// A lane is a batch of messages taken out of the queue at once.
type lane struct {
	q []any
	i int
}

func (l *lane) empty() bool { return l.i >= len(l.q) }

func newMailbox(ended func(), dead func(any)) *mailbox {
	m := &mailbox{ended: ended, dead: dead}
	m.cond.L = &m.mu
	return m
}

func (m *mailbox) PostUserMessage(x any) {
	_, ctl := x.(control)
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		m.dead(x)
		return
	}
	if ctl {
		m.ctl = append(m.ctl, x)
	} else {
		m.data = append(m.data, x)
	}
	m.wake()
}

func (m *mailbox) PostSystemMessage(x any) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	m.sys = append(m.sys, x)
	m.urgent.Store(true)
	m.wake()
}

func (m *mailbox) RegisterHandlers(i actor.MessageInvoker, _ actor.Dispatcher) { m.invoker = i }

func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ctl) + len(m.data)
}

// wake is called with mu held, and releases it.
func (m *mailbox) wake() {
	signal, start := m.parked, m.resting
	m.parked, m.resting = false, false
	m.mu.Unlock()
	if signal {
		m.cond.Signal()
	} else if start {
		m.run()
	}
}

func (m *mailbox) run() {
	// Owner: the actor. Ends when the actor has stopped (close). Run.Stop waits for it, through ended.
	go m.loop()
}

// Start handles Started in the spawner's goroutine, which saves a switch per actor when a graph is built; the actor
// gets a goroutine of its own with its first message.
func (m *mailbox) Start() {
	m.starting = true
	if m.handle() {
		m.run()
	}
}

// close is called by the actor itself, in its loop, when it has stopped.
func (m *mailbox) close() {
	m.stopped = true
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
}

func (m *mailbox) loop() {
	ended := false
	defer func() {
		if !ended { // by Goexit, in user code or in one of its methods, whatever has been recovered since
			m.run()
		}
	}()
	if m.begun != nil {
		m.begun()
	}
	for m.handle() {
	}
	m.mu.Lock()
	rest := append(append([]any{}, m.ctl...), m.data...)
	m.ctl, m.data = nil, nil
	m.mu.Unlock()
	for k := range m.cur {
		if l := &m.cur[k]; !l.empty() {
			rest = append(rest, l.q[l.i:]...)
		}
	}
	for _, x := range rest {
		m.dead(x)
	}
	ended = true
	m.ended()
}

// handle works off messages until the actor has stopped or, in Start, there are none (false), or one of them has
// failed (true): one deferred call for many messages.
func (m *mailbox) handle() (again bool) {
	var msg any
	clean := false
	defer func() {
		if clean {
			return
		}
		reason := recover()
		starting := m.starting
		m.starting = false
		switch {
		case m.stopped: // its parent has forgotten it: nobody is to be told
			return
		case reason == nil && starting:
			return // Goexit in the spawner's goroutine, which goes on ending
		case reason == nil:
			reason = errGoexit
		}
		again = true
		m.invoker.EscalateFailure(reason, msg)
	}()
	for {
		sys, ok := m.next()
		if !ok {
			clean = true
			return m.starting && m.leaveStart()
		}
		for k, s := range sys {
			msg = s
			switch s.(type) {
			case *actor.SuspendMailbox:
				m.suspended = true
			case *actor.ResumeMailbox:
				m.suspended = false
			default:
				m.putBack(sys[k+1:]) // a panic in here must not lose the others
				sys = nil
				m.invoker.InvokeSystemMessage(s)
			}
			if sys == nil {
				break
			}
		}
		for k := range m.cur {
			for l := &m.cur[k]; !m.suspended && !m.stopped && !l.empty() && !m.urgent.Load(); {
				msg = l.q[l.i]
				l.q[l.i] = nil
				l.i++
				m.invoker.InvokeUserMessage(msg)
			}
		}
	}
}

// next waits for something to do, and takes what there is. It returns false when the actor has stopped, or, in Start,
// when the rest is for the actor's own goroutine.
func (m *mailbox) next() (sys []any, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.sys) == 0 && !m.closed && (m.starting || m.suspended ||
		m.cur[0].empty() && m.cur[1].empty() && len(m.ctl) == 0 && len(m.data) == 0) {
		if m.starting {
			return nil, false
		}
		m.parked = true
		m.cond.Wait()
	}
	if m.closed {
		return nil, false
	}
	sys, m.sys = m.sys, nil
	m.urgent.Store(false)
	if !m.suspended {
		m.cur[0].refill(&m.ctl)
		m.cur[1].refill(&m.data)
	}
	return sys, true
}

// leaveStart ends Start: it says whether there is work for a goroutine already.
func (m *mailbox) leaveStart() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starting = false
	m.resting = !m.closed && len(m.sys) == 0 && len(m.ctl) == 0 && len(m.data) == 0
	return !m.resting
}

func (m *mailbox) putBack(sys []any) {
	if len(sys) == 0 {
		return
	}
	m.mu.Lock()
	m.sys = append(sys[:len(sys):len(sys)], m.sys...)
	m.urgent.Store(true)
	m.mu.Unlock()
}

func (l *lane) refill(q *[]any) {
	if l.empty() && len(*q) > 0 {
		l.q, *q, l.i = *q, l.q[:0], 0
	}
}
