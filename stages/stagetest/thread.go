package stagetest

import (
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A thread runs user code while its caller waits: in a goroutine of its own, which runtime.Goexit may end without taking
// the test along.
type thread struct {
	calls chan func()
	back  chan *death
}

// A death is a call that has not returned.
type death struct {
	recovered    any // nil: it has ended its goroutine
	value, stack string
}

func newThread() *thread {
	t := &thread{make(chan func()), make(chan *death)}
	// Owner: the walk. Ends with a call that does not return, or in end. do and end wait for it.
	go t.run()
	return t
}

func (t *thread) run() {
	over := false
	defer close(t.back)
	defer func() {
		if !over {
			d := &death{recovered: recover()}
			d.value, d.stack = plan.Panicked(d.recovered)
			t.back <- d
		}
	}()
	for f := range t.calls {
		f()
		t.back <- nil
	}
	over = true
}

// do calls f. If f does not return, the thread has ended.
func (t *thread) do(f func()) *death {
	t.calls <- f
	d := <-t.back
	if d != nil {
		<-t.back
	}
	return d
}

// end ends a thread of which every call has returned.
func (t *thread) end() {
	close(t.calls)
	<-t.back
}

// apart calls f in a thread of its own.
func apart(f func()) *death {
	t := newThread()
	d := t.do(f)
	if d == nil {
		t.end()
	}
	return d
}

// error is what the runtime makes of a death in that stage.
func (d *death) error(stage string) *stages.PanicError {
	return &stages.PanicError{Stage: stage, Value: d.value, Stack: d.stack}
}
