package supervisor

import (
	"fmt"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// How much goes in a message: an input's entry is never divided, since it is accepted in one step.
const (
	// groupBytes is the most bytes of an entry, by size. It leaves room for what the message says besides.
	groupBytes = payload.MaxInline + 32<<10
	// groupElements is the most elements of an entry.
	groupElements = wire.MaxElements / 2
	// messageBytes and messageElements are what further entries are added to.
	messageBytes    = 256 << 10
	messageElements = 64 << 10
)

// An extent is how much room something takes in a message, at most.
type extent struct{ bytes, elements int }

func (s extent) plus(t extent) extent { return extent{s.bytes + t.bytes, s.elements + t.elements} }

// overhead is what an element takes besides its contents, at most.
const overhead = 32

func sizeOfPayload(p *wire.Payload) extent {
	return extent{len(p.Bytes) + overhead*len(p.Blocks), len(p.Blocks)}
}

func sizeOfOutput(o *wire.Output) extent {
	return sizeOfPayload(&o.Payload).plus(extent{overhead + len(o.Path), 1})
}

func sizeOfFailure(f *wire.Failure) extent {
	return sizeOfPayload(&f.Letter).plus(extent{2*overhead + len(f.Identity.Path) + len(f.Error), 1})
}

// put adds an output to what has come of an input. g.mu is held.
func (g *gather) put(in *input, o wire.Output) {
	if in.size = in.size.plus(sizeOfOutput(&o)); g.fits(in) {
		in.entry.Outputs = append(in.entry.Outputs, o)
	} else {
		g.t.shared.drop(o.Payload)
	}
}

// fail adds a failure to what has come of an input. g.mu is held.
func (g *gather) fail(in *input, f wire.Failure) {
	if in.size = in.size.plus(sizeOfFailure(&f)); g.fits(in) {
		in.entry.Failures = append(in.entry.Failures, f)
	}
}

// fits reports whether what has come of an input can be sent. If not, the input has failed.
func (g *gather) fits(in *input) bool {
	if in.large || in.size.bytes <= groupBytes && in.size.elements <= groupElements {
		return !in.large
	}
	in.large = true
	for i := range in.entry.Outputs {
		g.t.shared.drop(in.entry.Outputs[i].Payload)
	}
	err := fmt.Errorf("%w for a message: what came of one input is more than %d bytes, or more than %d items", codecs.ErrTooLarge, groupBytes, groupElements)
	in.entry.Outputs = nil
	in.entry.Failures = []wire.Failure{{Stage: g.t.region.To, Identity: in.identity, Attempts: 1, Error: stages.EncodeError(g.t.graph, err)}}
	return false
}

// send sends entries, as few to a message as it must.
func (g *gather) send(over []*input) {
	r := wire.Result{Finished: g.t.finished()}
	var sum extent
	for _, in := range over {
		next := sum.plus(in.size)
		if len(r.Entries) > 0 && (next.bytes > messageBytes || next.elements > messageElements) {
			g.t.peer.Send(&r)
			r.Entries, next = r.Entries[:0], in.size
		}
		r.Entries, sum = append(r.Entries, in.entry), next
	}
	if len(r.Entries) > 0 {
		g.t.peer.Send(&r)
	}
}
