package actors

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// Letters is a place for dead letters that has been opened, and the stages of which it takes them.
type Letters struct {
	Stages []int // by index
	To     stages.LetterWriter
}

// A letterActor hands dead letters over, for one or several stages. Writing takes its time and is user code, so it is an
// actor of its own. What comes in while it writes is synced in one go.
type letterActor struct {
	run *Run
	box *mailbox
	of  *plan.Stage // the first that it writes for, which stands for it in errors
	to  stages.LetterWriter

	written []*letterRequest // not synced
	broken  error            // nothing is written any more
}

// A letterRequest is an item that is to be handed over, and comes back when it has been. It keeps its place in its stage
// until then.
type letterRequest struct {
	quiet
	from    *actor.PID
	item    *stages.ItemError
	chunk   plan.Chunk // nil: there is nothing but the error
	at      int        // place of the item in chunk
	piece   *piece
	payload []byte // instead of the item in chunk, if encoded
	encoded bool
	far     bool  // the item is another process's
	stored  error // nil: it has been
}

// syncLetters says that all that has been written before is to be synced.
type syncLetters struct{ quiet }

func (*letterRequest) control() {}

func newLetterActor(r *Run, box *mailbox, l Letters) *letterActor {
	return &letterActor{run: r, box: box, of: r.spec(l.Stages[0]), to: l.To}
}

func (a *letterActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *letterRequest:
		var told bool
		if told, m.stored = a.write(m); !told {
			return
		}
		if m.stored != nil {
			c.Send(m.from, m)
			return
		}
		if a.written = append(a.written, m); len(a.written) == 1 {
			c.Send(c.Self(), &syncLetters{}) // behind what has come by now
		}
	case *syncLetters:
		told, err := a.sink(func(context.Context) error { return a.to.Sync() })
		for _, d := range a.written {
			if d.stored = err; told {
				c.Send(d.from, d)
			}
		}
		clear(a.written)
		a.written = a.written[:0]
	case *actor.Stopping:
		if _, err := a.run.aside(a.run.ctx, a.of, func(context.Context) error { return a.to.Close() }); err != nil {
			a.run.event(CloseFailed{Stage: a.of.Name, Worker: noWorker, Err: err})
		}
	case *actor.Stopped:
		a.box.close()
	}
}

// guard calls user code, which must not fail: once it has, nothing is tried any more. It returns false if that was told to end
// because the run is being stopped, which says nothing: the items stay in flight.
func (a *letterActor) guard(f func(context.Context) error) (told bool, err error) {
	if a.broken == nil {
		canceled, err := a.run.aside(a.run.ctx, a.of, f)
		if canceled && a.run.ctx.Err() != nil {
			return false, nil
		}
		a.broken = err
	}
	return true, a.broken
}

// sink is guard for what the sink does.
func (a *letterActor) sink(f func(context.Context) error) (told bool, err error) {
	if a.broken != nil {
		return true, a.broken
	}
	if told, err = a.guard(f); err != nil {
		a.broken = fmt.Errorf("its dead-letter sink failed: %w", err)
	}
	return told, a.broken
}

// write hands one letter to the writer.
func (a *letterActor) write(d *letterRequest) (told bool, err error) {
	var l stages.Letter
	told, err = a.guard(func(context.Context) (err error) {
		if d.encoded {
			l = stages.LetterFrom(a.run.graph, d.item, d.payload)
			return nil
		}
		l, err = stages.LetterOf(a.run.graph, d.item, d.chunk, d.at)
		return err
	})
	if !told || err != nil {
		return told, err
	}
	return a.sink(func(ctx context.Context) error { return a.to.Write(ctx, l) })
}

// handOver sends the item at which a piece stands to the letter actor.
func (s *stage) handOver(p *piece, item *stages.ItemError) {
	if p.items() > 1 { // what lies behind it does not wait
		s.lost = append(s.lost, s.split(p, 1))
	}
	p.waits = true
	s.cx.Send(s.run.letterActors[s.spec.Index], &letterRequest{from: s.self, item: item, chunk: p.lot.chunk, at: p.from, piece: p})
}

// handedOver is told by the letter actor that it has written a letter, or could not.
func (s *stage) handedOver(m *letterRequest) {
	if s.aborted || s.over {
		return
	}
	m.piece.waits = false
	switch {
	case m.stored == nil && m.far:
		s.failedFar(m.piece, true)
	case m.stored == nil:
		s.failedForGood(m.piece, m.item, true)
	case s.sinkless:
		s.endAt(m.piece) // the run knows
	default:
		s.sinkless = true
		s.doom(m.piece, undelivered(m))
	}
	if s.aborted {
		return
	}
	s.release(m.piece)
	if s.spec.OneByOne() || s.spec.Streaming {
		s.relist()
	}
}

// undelivered is why the run fails with an item that the sink has not taken.
func undelivered(m *letterRequest) error {
	return fmt.Errorf("stage %q: %w; so the item is not handed over: %w", m.item.Stage, m.stored, m.item)
}
