package plan

import (
	"context"
	"errors"
	"fmt"
)

// ErrFatal marks errors that no policy may skip: stages.ErrFatal.
var ErrFatal = errors.New("stages: fatal")

// Examine asks an error of user code all that the runtime wants to know of it, in the goroutine of that user code: its
// methods are user code too. An error whose methods panic is replaced by one that says so.
func Examine(err error) (safe error, fatal, canceled bool) {
	if err == nil {
		return nil, false, false
	}
	defer func() {
		if r := recover(); r != nil {
			safe, fatal, canceled = fmt.Errorf("a %T whose methods panic: %v", err, r), false, false
		}
	}()
	_ = err.Error()
	return err, errors.Is(err, ErrFatal), errors.Is(err, context.Canceled)
}
