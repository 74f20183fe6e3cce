package main

import (
	"context"
	"os"
	"runtime"
	"testing"
)

func TestTheFirstSignalEndsDrainAndTheSecondTheContext(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself an interrupt there")
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ctx, drain := interrupts()
	if ctx.Err() != nil || drain.Err() != nil {
		t.Fatal("interrupted by nobody")
	}
	if err := self.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-drain.Done()
	if ctx.Err() != nil {
		t.Fatal("the first signal stops already")
	}
	if err := self.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if context.Cause(ctx) != errInterrupted {
		t.Errorf("cause %v", context.Cause(ctx))
	}
}
