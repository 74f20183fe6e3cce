package stages

import (
	"errors"

	"github.com/weirflow/weir/internal/payload"
)

// A View is a block of bytes that may lie in memory shared with the process that made it: the way to hand on large
// payloads without a copy. In a graph it is an item like any other. Whoever gets it last must call Release; slices
// that Bytes gave out are not valid after that. The zero View is an empty block.
//
// Sent to another process, a block of 16 KiB or more is copied once, into the shared memory, and not when it is received. What that
// shows can still be changed by the process that made it: copy the bytes before you check them, if you do not trust it. Inside of
// another value, and as a dead letter, a View travels as a copy, and what arrives is private.
//
// Around a part of the graph that is in another process, the runtime releases what it is through with: in the process that
// a View was sent to, when its item is done, and in the one that it came from, unless a Tee gives it to others, too. A function there
// must not keep it.
//
// A View stays valid when the process that made it dies, and when the run ends. One that is never released keeps its
// part of the shared memory, unless nobody has called Bytes; when that is used up, payloads are copied through the connection.
type View struct{ ref payload.Ref }

// ViewOf makes a View of b without copying it: b belongs to the View from now on.
func ViewOf(b []byte) View { return View{payload.NewRef(b)} }

// Bytes returns the block, which must not be written to: in shared memory that would end the process. After Release Bytes panics rather
// than show what came to lie there since: a failed item, named.
func (v View) Bytes() []byte { return v.ref.Bytes() }

// Release gives the block back. It is legal to call it twice. A function that may be called again with the same item, see Retry, must
// not have released it when it fails.
func (v View) Release() { v.ref.Release() }

// Split implements codecs.Bulk, for where there is no shared memory: the block is a copy.
func (v *View) Split() (head, block []byte, err error) {
	block, err = v.ref.Copy(nil)
	return nil, block, err
}

// Join implements codecs.Bulk.
func (v *View) Join(head, block []byte) error {
	if len(head) != 0 {
		return errors.New("stages: a View has no head")
	}
	*v = ViewOf(block)
	return nil
}
