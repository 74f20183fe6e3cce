package shapes

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/weirflow/weir/supervisor"
)

// Pull takes items one at a time and hands them to use. Whenever there is none for so long, it calls idle, and goes on:
// a Next whose context has ended has consumed nothing.
func Pull[T any](ctx context.Context, run *supervisor.Run[T], patience time.Duration, use func(T), idle func()) error {
	for {
		v, err := next(ctx, run, patience)
		switch {
		case err == nil:
			use(v)
		case err == io.EOF:
			return nil
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			idle()
		default:
			return err
		}
	}
}

func next[T any](ctx context.Context, run *supervisor.Run[T], patience time.Duration) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return run.Next(ctx)
}
