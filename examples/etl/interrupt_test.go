package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"testing"
	"time"
)

// interruptVariable, in the environment of a child process, has it interrupt itself.
const interruptVariable = "WEIR_TEST_INTERRUPT"

// TestMain makes a child process of this program interrupt itself instead of testing anything.
func TestMain(m *testing.M) {
	if os.Getenv(interruptVariable) == "" {
		os.Exit(m.Run())
	}
	self, err := os.FindProcess(os.Getpid())
	ctx := interrupted()
	if err == nil {
		err = self.Signal(os.Interrupt)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	<-ctx.Done()
	fmt.Println("the first")
	self.Signal(os.Interrupt)
	<-time.After(time.Minute) // nothing hears it any more, so that this one kills
}

func TestTheFirstInterruptIsHeardAndASecondKills(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself an interrupt there")
	}
	if signal.Ignored(os.Interrupt) {
		t.Skip("who started the test has it ignore interrupts, and what it starts inherits that")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), interruptVariable+"=1")
	out, err := child.CombinedOutput()
	if string(out) != "the first\n" || err == nil || !strings.Contains(err.Error(), "interrupt") {
		t.Errorf("it says %q, and ends: %v", out, err)
	}
}
