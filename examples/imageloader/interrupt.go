package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
)

var errInterrupted = errors.New("interrupted")

// interrupts returns a context that ends at the second Ctrl-C, and one that ends at the first. The second is listened
// for before the first is told, so none gets lost in between. Both last as long as the program.
func interrupts() (ctx, drain context.Context) {
	ctx, onSecond := context.WithCancelCause(context.Background())
	drain, onFirst := context.WithCancel(context.Background())
	first, _ := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(first, func() {
		second, _ := signal.NotifyContext(context.Background(), os.Interrupt)
		context.AfterFunc(second, func() { onSecond(errInterrupted) })
		onFirst()
	})
	return ctx, drain
}
