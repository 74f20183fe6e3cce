package supervisor

import (
	"errors"
	"fmt"
	"os"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/link/arena"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// defaultArena is the size of Subprocess.ArenaBytes 0.
const defaultArena = 64 << 20

// A shared is one side's part in the payloads of a session, and in the memory that it shares with the other, if it does.
type shared struct {
	packer   *payload.Packer
	unpacker *payload.Unpacker
	out      *arena.Writer // nil: everything goes in messages
	in       *arena.Reader // nil with out
}

func newShared(c codecs.Codec, out *arena.Writer, in *arena.Reader) *shared {
	if out == nil {
		return &shared{packer: payload.NewPacker(c, nil), unpacker: payload.NewUnpacker(c, nil)}
	}
	return &shared{packer: payload.NewPacker(c, out), unpacker: payload.NewUnpacker(c, in), out: out, in: in}
}

// makeShared makes the memory for a session with a child, of which there are bytes in each direction. Without room for it
// everything goes in messages.
func makeShared(c codecs.Codec, bytes uint64) *shared {
	out, err := arena.NewWriter(bytes)
	if err != nil {
		return newShared(c, nil, nil)
	}
	in, err := arena.NewReader(bytes)
	if err != nil {
		out.Close()
		return newShared(c, nil, nil)
	}
	return newShared(c, out, in)
}

// files are what the other process inherits.
func (s *shared) files() []*os.File {
	if s.out == nil {
		return nil
	}
	return []*os.File{s.out.File(), s.in.File()}
}

// size is what the other process is told.
func (s *shared) size() uint64 {
	if s.out == nil {
		return 0
	}
	return s.out.Size()
}

// openShared is the other side of makeShared.
func openShared(c codecs.Codec, files []*os.File, bytes uint64) (*shared, error) {
	if bytes == 0 {
		return newShared(c, nil, nil), nil
	}
	if len(files) != 2 {
		return nil, errors.New("there is no shared memory here, or a session had it before")
	}
	in, err := arena.OpenReader(files[0], bytes)
	if err != nil {
		return nil, err
	}
	out, err := arena.OpenWriter(files[1], bytes)
	if err != nil {
		in.Close()
		return nil, err
	}
	return newShared(c, out, in), nil
}

// close ends a node's part in the memory.
func (s *shared) close() {
	if s.out != nil {
		s.out.Close()
		s.in.Close()
	}
}

// returns has send told of the blocks that are not looked at any more. send must not block.
func (s *shared) returns(send func(wire.Message)) {
	if s.in != nil {
		s.in.Notify(func() { send(&wire.Release{Blocks: s.in.Returned(nil)}) })
	}
}

// free takes blocks back that the other side does not look at any more.
func (s *shared) free(blocks []wire.Block) error {
	if s.out == nil {
		return errors.New("a block of shared memory is given back, of which there is none")
	}
	for _, b := range blocks {
		if err := s.out.Free(b); err != nil {
			return err
		}
	}
	return nil
}

// pack makes a payload of item i of c.
func (s *shared) pack(c plan.Chunk, i int) (wire.Payload, error) {
	p, err := c.Pack(s.packer, i)
	if errors.Is(err, payload.ErrFull) {
		err = fmt.Errorf("%w for a message, and %d bytes of shared memory (ArenaBytes) have no room beside what is out: %w", codecs.ErrTooLarge, s.out.Size(), err)
	}
	return p, err
}

// drop takes the blocks back of a payload that is not sent.
func (s *shared) drop(p wire.Payload) {
	for _, b := range p.Blocks {
		if b.Generation != 0 {
			_ = s.out.Free(b) // it is ours
		}
	}
}

// bulky reports whether shared memory is of use to a session: items that go to the region or come from it may have large parts.
func bulky(g *plan.Graph, r *plan.Region, bytes uint64) bool {
	return bytes > payload.MaxInline || r.In.Stage != plan.None && g.Stages[r.In.Stage].Pool.Blocks() || g.Stages[r.To].Pool.Blocks()
}
