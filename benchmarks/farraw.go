package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/link/arena"
	"github.com/weirflow/weir/internal/wire"
)

// What the works across processes are compared with: the same bytes without a pipeline.

// perMessage is how many items raw messages have.
const perMessage = 64

// throughSockets writes items of a size into one end of a pair of sockets and reads them from the other, with a goroutine for each.
func throughSockets(size int) func(context.Context, int) (farSample, error) {
	return func(_ context.Context, n int) (m farSample, _ error) {
		here, there, err := sockets()
		if err != nil {
			return m, err
		}
		defer here.Close()
		defer there.Close()
		many := perMessage
		if size >= 64*kib {
			many = 1
		}
		n = (n + many - 1) / many
		written := make(chan error, 1)
		buf := make([]byte, many*size)
		begun, cpu := time.Now(), cpuTime()
		go func() {
			for range n {
				if _, err := there.Write(buf); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		into := make([]byte, len(buf))
		for range n {
			if _, err := io.ReadFull(here, into); err != nil {
				return m, err
			}
		}
		m.took, m.cpu = time.Since(begun), cpuTime()-cpu
		return m, <-written
	}
}

// copiedHere copies blocks into as many others as may be out.
func copiedHere(size, out int) func(context.Context, int) (farSample, error) {
	return func(_ context.Context, n int) (m farSample, _ error) {
		from, to := makeBlocks(blocksThere, size), makeBlocks(out, size)
		pacer, cpu := pace(n), cpuTime()
		for i := range n {
			pacer.item()
			copy(to[i%out], from[i%blocksThere])
		}
		m.took, m.cpu = pacer.took(), cpuTime()-cpu
		return m, nil
	}
}

// cloned copies blocks into fresh memory, which is garbage when as many others have been made as may be out: what a private copy costs
// at least.
func cloned(size, out int) func(context.Context, int) (farSample, error) {
	return func(_ context.Context, n int) (m farSample, _ error) {
		from, to := makeBlocks(blocksThere, size), make([][]byte, out)
		pacer, cpu := pace(n), cpuTime()
		for i := range n {
			pacer.item()
			to[i%out] = bytes.Clone(from[i%blocksThere])
		}
		m.took, m.cpu = pacer.took(), cpuTime()-cpu
		return m, nil
	}
}

// A linkWay is how blocks go over a link and through shared memory.
type linkWay int

const (
	linkCopy    linkWay = iota // copied into it, and out of it into memory that is there
	linkView                   // copied into it, looked at where it is
	linkInPlace                // written where it is, and looked at there
)

// linkBatch is how many blocks a message tells of.
const linkBatch = 8

// overLink sends blocks through shared memory and what is said of them over a link, without a pipeline at either end. Both ends are
// here, and have mappings of their own.
func overLink(size, out int, way linkWay) func(context.Context, int) (farSample, error) {
	return func(ctx context.Context, n int) (m farSample, _ error) {
		w, r, err := sharedMemory(uint64(2 * size * out))
		if errors.Is(err, arena.ErrUnsupported) {
			err = errors.Join(err, errors.ErrUnsupported)
		}
		if err != nil {
			return m, err
		}
		defer r.Close()
		here, there, err := sockets()
		if err != nil {
			w.Close()
			return m, err
		}
		ctx, stop := context.WithCancel(ctx)
		served := make(chan error, 1)
		go func() {
			defer w.Close()
			served <- link.Serve(ctx, link.OneListener(there), link.Config{Local: true, Handle: func(_ context.Context, s *link.Session, _ *wire.Open) {
				sendBlocks(s, w, size, out, n, way)
			}})
		}()
		m, err = receiveBlocks(ctx, here, r, size, out, n, way)
		stop()
		return m, errors.Join(err, <-served)
	}
}

func sharedMemory(bytes uint64) (*arena.Writer, *arena.Reader, error) {
	w, err := arena.NewWriter(bytes)
	if err != nil {
		return nil, nil, err
	}
	r, err := arena.OpenReader(w.File(), bytes)
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	return w, r, nil
}

// sendBlocks is the node's side: at most out blocks are out at once.
func sendBlocks(s *link.Session, w *arena.Writer, size, out, n int, way linkWay) {
	if s.Accept(&wire.Ready{Version: wire.Version}) != nil {
		return
	}
	from := makeBlocks(blocksThere, size)
	var result wire.Result
	for i, away := 0, 0; i < n || away > 0; {
		for ; i < n && away < out && len(result.Entries) < linkBatch; i, away = i+1, away+1 {
			var b wire.Block
			var ok bool
			if way == linkInPlace {
				var buf []byte
				if buf, b, ok = w.Alloc(size); ok {
					copy(buf, from[i%blocksThere][:8])
					w.Done()
				}
			} else {
				b, ok = w.Put(from[i%blocksThere])
			}
			if !ok {
				s.Close()
				return
			}
			result.Entries = append(result.Entries, wire.Entry{ID: uint64(i), Outputs: []wire.Output{{Payload: wire.Payload{Blocks: []wire.Block{b}}}}})
		}
		if len(result.Entries) > 0 && (len(result.Entries) == linkBatch || i == n) {
			if s.Send(&result) != nil {
				return
			}
			result.Entries = result.Entries[:0]
			continue
		}
		got, err := s.Recv()
		if err != nil {
			return
		}
		if released, ok := got.(*wire.Release); ok {
			for _, b := range released.Blocks {
				if w.Free(b) != nil {
					s.Close()
					return
				}
			}
			away -= len(released.Blocks)
		}
	}
}

// receiveBlocks is the coordinator's side.
func receiveBlocks(ctx context.Context, conn net.Conn, r *arena.Reader, size, out, n int, way linkWay) (m farSample, _ error) {
	c, err := link.Dial(ctx, link.Target{Conn: conn})
	if err != nil {
		return m, err
	}
	defer c.Close()
	s, _, err := c.Open(ctx, &wire.Open{Versions: []uint32{wire.Version}, Mode: wire.Keyed, Window: 1})
	if err != nil {
		return m, err
	}
	defer s.Close()
	to := makeBlocks(out, size)
	pacer, sum := pace(n), 0
	cpu := cpuTime()
	for pacer.count < n {
		got, err := s.Recv()
		if err != nil {
			return m, err
		}
		result, ok := got.(*wire.Result)
		if !ok {
			return m, fmt.Errorf("got a %T", got)
		}
		for i := range result.Entries {
			b := result.Entries[i].Outputs[0].Payload.Blocks[0]
			block, err := r.View(b)
			if err != nil {
				return m, err
			}
			if way == linkCopy {
				copy(to[pacer.count%out], block)
				block = to[pacer.count%out]
			}
			sum += numberOf(block)
			pacer.item()
			if err := r.Release(b); err != nil {
				return m, err
			}
		}
		if err := s.Send(&wire.Release{Blocks: r.Returned(nil)}); err != nil {
			return m, err
		}
	}
	m.took, m.cpu = pacer.took(), cpuTime()-cpu
	return m, checkSum(pacer.count, sum, n, blocksThere)
}
