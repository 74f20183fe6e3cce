package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Latencies across processes.

// helloFlag has this program say hello and end: what it takes to start it.
const helloFlag = "-hello"

func hello() { os.Stdout.WriteString("hello\n") }

const ownStart = "own start" // the program's own start, to the first statement of main

func farLatencies(s *supervisor.Supervisor) []latency {
	child := supervisor.Subprocess{}
	there := supervisor.Regions{{From: "there", On: child}}
	return []latency{
		{"far-first", "from Deploy to the first item from a child", 40, 10, 0, ownStart, []sprinter{
			{"stage", farFirst(s, farInts(), there, 0)},
			{"graph", farFirst(s, farInts(), child, 0)},
			{"stage 64k", farFirst(s, farCopies(), there, 64*kib)},
			{ownStart, startBinary},
		}},
		{"far-kill", "from the death of a child to the first item of the next", 20, 4, 0, ownStart, []sprinter{
			{"stage", farKill(s, there)},
			{"graph", farKill(s, child)},
			{ownStart, startBinary},
		}},
	}
}

// startBinary starts this program until it says something.
func startBinary(ctx context.Context, n int) (took []time.Duration, _ error) {
	for range n {
		begun := time.Now()
		c := exec.CommandContext(ctx, "/proc/self/exe", helloFlag)
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			return took, err
		}
		if _, err := io.ReadFull(out, make([]byte, len("hello\n"))); err != nil {
			return took, err
		}
		took = append(took, time.Since(begun))
		if err := c.Wait(); err != nil {
			return took, err
		}
	}
	return took, nil
}

// farFirst deploys a pipeline, takes one item and stops it: the stopping is not timed.
func farFirst[T any](s *supervisor.Supervisor, d *stages.Definition[cargo, T], at supervisor.Placement, size int) func(context.Context, int) ([]time.Duration, error) {
	return func(ctx context.Context, n int) (took []time.Duration, _ error) {
		for range n {
			begun := time.Now()
			run, err := supervisor.Deploy(ctx, s, d.With(cargo{Items: 3, Bytes: size}), at)
			if err != nil {
				return took, err
			}
			_, err = run.Next(ctx)
			took = append(took, time.Since(begun))
			if err := errors.Join(err, run.Stop()); err != nil {
				return took, err
			}
		}
		return took, nil
	}
}

// farKill kills the child that an item came from, and takes items until one comes from another.
func farKill(s *supervisor.Supervisor, at supervisor.Placement) func(context.Context, int) ([]time.Duration, error) {
	return func(ctx context.Context, n int) (took []time.Duration, _ error) {
		run, err := supervisor.Deploy(ctx, s, farLives().With(cargo{Items: 1 << 40}), at)
		if err != nil {
			return nil, err
		}
		defer run.Stop()
		for len(took) < n {
			pid, err := run.Next(ctx)
			for range 20_000 { // so that it is well under way
				if err == nil {
					pid, err = run.Next(ctx)
				}
			}
			if err != nil {
				return took, err
			}
			p, err := os.FindProcess(pid)
			if err != nil {
				return took, err
			}
			begun := time.Now()
			if err := p.Kill(); err != nil {
				return took, fmt.Errorf("kill %d: %w", pid, err)
			}
			for next := pid; next == pid; {
				if next, err = run.Next(ctx); err != nil {
					return took, err
				}
			}
			took = append(took, time.Since(begun))
		}
		return took, nil
	}
}
