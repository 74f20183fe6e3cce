package actors

import (
	"errors"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// Nodes are where the regions of a graph live: processes, on this machine or another.
type Nodes interface {
	// Start begins a session with a copy of a region, and returns at once. What comes of it is told by one goroutine at a time:
	// first *wire.Ready, then what the node says, at last one *Lost or, if the session was ended, one *wire.End. Nothing
	// comes behind that. told does not block.
	// open says of the first message what the stage knows of it.
	Start(r *plan.Region, copy int, open wire.Open, told func(any)) Session
}

// A Session is one life of a copy of a region. Its methods do not block.
type Session interface {
	// Pack makes a payload of item i of c. What is in it is valid until Packed. It runs user code, and is called by one goroutine at a
	// time.
	Pack(c plan.Chunk, i int) (wire.Payload, error)
	// Packed says that all payloads made so far have been sent, or will not be.
	Packed()
	// Unpack appends the value of p to c, without an identity. It runs user code. It can be called when the session has ended.
	Unpack(c plan.Chunk, p wire.Payload) error
	// Send sends m. It is encoded before Send returns.
	Send(m wire.Message)
	// Stop ends the session at once: nothing is told any more. It may be called again.
	Stop()
}

// A Lost is told of a session that has ended by itself.
type Lost struct {
	Err   error
	Final bool // there is no point in another one
	// Blames says that what the session was at may be the reason: a process has died. Executing is what its workers were at
	// then, as far as it is known: of a region with a source or an aggregate.
	Blames    bool
	Executing []plan.Executing
}

// nodeError is an error of a node, which it has encoded. It is never nil.
func (r *Run) nodeError(encoded []byte) error {
	if err := stages.DecodeError(r.graph, encoded); err != nil {
		return err
	}
	return errors.New("an error without a text")
}
