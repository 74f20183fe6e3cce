package actors

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// An edge joins two stages. Its credit is absolute: the number of places that the producer may ever have taken. It lies
// in the edge, and the edge itself is the message that says "look again": at most one is under way, so credits are
// never queued and never allocated. It is sent only to a producer that has said it is starved.
type edge struct {
	quiet
	limit   atomic.Uint64
	pending atomic.Bool // a message is under way
	starved atomic.Bool
	up      *actor.PID // the producer; immutable once data flows
	sys     *actor.ActorSystem
}

func (*edge) control() {}

// grant is called by the consumer.
func (e *edge) grant(limit uint64) {
	e.limit.Store(limit)
	if e.starved.Swap(false) && e.pending.CompareAndSwap(false, true) {
		e.sys.Root.Send(e.up, e)
	}
}

// credit returns how many places the producer, which has taken sent, may take now. If there are none it announces that
// it waits, and looks again: whatever comes after that is a message.
func (e *edge) credit(sent uint64) int {
	if n := e.limit.Load() - sent; n > 0 {
		return int(n)
	}
	e.starved.Store(true)
	return int(e.limit.Load() - sent)
}
