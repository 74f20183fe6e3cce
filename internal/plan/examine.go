package plan

import (
	"context"
	"errors"
	"fmt"
)

// ErrFatal marks errors that no policy may skip: stages.ErrFatal.
var ErrFatal = errors.New("stages: fatal")

// ErrDropped is the error of an item, in Work.Err, that is to be dropped: nothing comes of it, and it has not failed.
var ErrDropped = errors.New("dropped by a hook")

// Examine asks an error of user code all that the runtime wants to know of it, in the goroutine of that user code: its
// methods are user code too. An error whose methods panic is replaced by one that says so.
func Examine(err error) (fatal, canceled bool, safe error) {
	if err == nil {
		return false, false, nil
	}
	defer func() {
		if r := recover(); r != nil {
			fatal, canceled, safe = false, false, fmt.Errorf("a %T whose methods panic: %v", err, r)
		}
	}()
	_ = err.Error()
	return errors.Is(err, ErrFatal), errors.Is(err, context.Canceled), err
}
