package plan

import (
	"context"
	"errors"
	"fmt"
)

// ErrFatal marks errors that no policy may skip: stages.ErrFatal.
var ErrFatal = errors.New("stages: fatal")

// ErrRetryable marks errors that are worth another attempt: stages.ErrRetryable.
var ErrRetryable = errors.New("stages: retryable")

// ErrDropped is the error of an item, in Work.Err, that is to be dropped: nothing comes of it, and it has not failed.
var ErrDropped = errors.New("dropped by a hook")

// A Verdict is all that the runtime wants to know of an error of user code.
type Verdict struct {
	Err       error // nil: there is none
	Fatal     bool
	Canceled  bool // it is that of a context that has ended
	Retryable bool // it is worth another attempt
}

// Examine asks an error of user code, in the goroutine of that user code: its methods are user code too, and so is retry,
// which says what is worth another attempt besides what is marked; nil is nothing. An error whose methods panic is replaced
// by one that says so.
func Examine(err error, retry func(error) bool) (v Verdict) {
	if err == nil {
		return v
	}
	defer func() {
		if r := recover(); r != nil {
			v = Verdict{Err: fmt.Errorf("a %T whose methods panic: %v", err, r)}
		}
	}()
	_ = err.Error()
	v = Verdict{Err: err, Fatal: errors.Is(err, ErrFatal), Canceled: errors.Is(err, context.Canceled)}
	v.Retryable = !v.Fatal && (errors.Is(err, ErrRetryable) || asked(retry, err))
	return v
}

// ExamineApart is Examine in a goroutine of its own, which the methods of err may end: for where the caller's is ending
// already, or must not.
func ExamineApart(err error, retry func(error) bool) Verdict {
	v := Verdict{Err: fmt.Errorf("a %T whose methods do not return", err)}
	Apart(func() { v = Examine(err, retry) })
	return v
}

// Apart calls f, which runs user code, in a goroutine of its own, which that may end, and reports whether f has returned.
func Apart(f func()) (returned bool) {
	asked := make(chan struct{})
	// Owner: the caller, who waits for it. Ends when f does.
	go func() {
		defer close(asked)
		f()
		returned = true
	}()
	<-asked
	return returned
}

// ApartEach calls f with 0 to n-1, as Apart does. Of a call that has ended its goroutine, ended is told; the next one is made in
// another.
func ApartEach(n int, f, ended func(i int)) {
	for i := 0; i < n; i++ {
		if Apart(func() {
			for ; i < n; i++ {
				f(i)
			}
		}) {
			return
		}
		ended(i)
	}
}

// asked is what retry says of err. If it panics, the answer is no.
func asked(retry func(error) bool, err error) (yes bool) {
	if retry == nil || err == ErrDropped {
		return false
	}
	defer func() { _ = recover() }()
	return retry(err)
}
