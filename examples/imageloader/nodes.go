package main

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/weirflow/weir/supervisor"
)

// nodes hears of the processes that stages run in, if they run elsewhere.
type nodes struct {
	stderr io.Writer

	mu       sync.Mutex
	restarts []string // guarded by mu: a line for each
}

// hear is a Config.OnEvent.
func (n *nodes) hear(e supervisor.Event) {
	switch e := e.(type) {
	case supervisor.NodeOutput:
		fmt.Fprintf(n.stderr, "[%s] %s\n", printable(e.Node), printable(e.Line))
	case supervisor.NodeRestarted:
		why := e.Err
		if node, ok := errors.AsType[*supervisor.NodeError](e.Err); ok {
			why = node.Err // the line names the node anyhow
		}
		text := fmt.Sprint(why)
		if exit, ok := errors.AsType[*supervisor.ExitError](e.Err); ok {
			text = exit.Status // without what it had printed, which was told line by line
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.restarts = append(n.restarts, fmt.Sprintf("restarted: %s/%d: %s", printable(e.Region), e.Copy, printable(text)))
	}
}

// lines returns what the summary says of them.
func (n *nodes) lines() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.restarts
}
