package link

import (
	"fmt"

	"github.com/weirflow/weir/internal/wire"
)

// A role is a side of a session.
type role uint8

const (
	coordinator role = iota
	node
)

func (r role) String() string {
	if r == node {
		return "a node"
	}
	return "a coordinator"
}

// peer is the role of the other side.
func (r role) peer() role { return node - r }

// A class is how a message is treated on its way.
type class uint8

const (
	forbidden class = iota // the role may not send it
	opening                // the first message, and only that
	data                   // in order, never dropped
	behind                 // never dropped, but behind data that waits
	droppable              // behind data, and dropped when too many wait
	beat                   // fills a silence
)

// classify says how a message from r is treated.
func (r role) classify(m wire.Message) class {
	switch m.(type) {
	case *wire.Open:
		return r.only(coordinator, opening)
	case *wire.Ready, *wire.Refuse:
		return r.only(node, opening)
	case *wire.Task, *wire.Limit, *wire.Drain, *wire.Skip, *wire.Cancel:
		return r.only(coordinator, data)
	case *wire.Result, *wire.Part, *wire.Frame, *wire.Stopped, *wire.Abort:
		return r.only(node, data)
	case *wire.End:
		if r == node {
			return behind // the last Stats, too
		}
		return data
	case *wire.Release:
		return data
	case *wire.Profile:
		return behind
	case *wire.Event, *wire.Stats, *wire.Log:
		return r.only(node, droppable)
	case *wire.Ping, *wire.Pong:
		return beat
	}
	return forbidden
}

func (r role) only(allowed role, c class) class {
	if r != allowed {
		return forbidden
	}
	return c
}

// misplaced is the error of a message that r may not send, or not now.
func misplaced(r role, m wire.Message) *ProtocolError {
	return &ProtocolError{Reason: fmt.Sprintf("%s may not send %T here", r, m)}
}
