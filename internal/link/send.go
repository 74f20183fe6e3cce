package link

import (
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/grpc/mem"

	"github.com/weirflow/weir/internal/wire"
)

const (
	// MaxMessageBytes is how large an encoded message may be: an item of 64 MiB, and what is said about it.
	MaxMessageBytes = 64<<20 + 64<<10

	lengthBytes = 4
	batchBytes  = 64 << 10 // a batch that is larger takes no further message
	maxBatch    = batchBytes + lengthBytes + MaxMessageBytes

	// maxWaiting and maxWaitingBytes are how many events, statistics and logs may wait, of each kind. The newest one
	// may be larger.
	maxWaiting      = 256
	maxWaitingBytes = 1 << 20
)

// A queue is what waits for the writer.
type queue struct {
	ping, pong bool
	data       []*[]byte // batches: all but the last one are full
	low        []lowly   // what goes when no data waits
	counts     [3]int    // of the droppable ones in low, by kind
	bytes      [3]int
}

// A lowly message goes behind data.
type lowly struct {
	kind  int // index into counts; -1 is not dropped
	bytes []byte
}

// Send queues m, which is encoded before Send returns, so that its memory may be used again. It does not block. How much
// waits is bounded by the credit of the protocol, since who sends needs a grant for whatever is not bounded by itself;
// events, statistics and logs have none, and the oldest ones of a kind are dropped and counted when more than 256 of it wait,
// or more than 1 MiB.
//
// The errors are *TooLargeError, after which the session goes on; *ProtocolError if this side may not send m; ErrNotOpen;
// ErrClosed after CloseSend; or why the session has ended.
func (s *Session) Send(m wire.Message) error {
	c := s.role.classify(m)
	switch c {
	case data, behind, droppable:
	default:
		return misplaced(s.role, m)
	}
	if err := s.enqueue(m, c); err != nil {
		return err
	}
	s.poke()
	return nil
}

// CloseSend says that nothing more will be sent, behind what waits. It does not block, and may be called again. What the
// peer still sends can be received. A node's handler need not call it before it returns.
func (s *Session) CloseSend() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.poke()
}

// enqueue encodes m into the queue.
func (s *Session) enqueue(m wire.Message, c class) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err == io.EOF || s.err == nil && s.closing:
		return ErrClosed
	case s.err != nil:
		return s.err
	case s.unsent != nil:
		return s.unsent
	case c != opening && !s.open:
		return ErrNotOpen
	}
	q := &s.queue
	if c == behind || c == droppable {
		b, err := frame(nil, m)
		if err == nil {
			s.dropped.Add(q.addLow(lowly{lowKind(m), b}))
		}
		return err
	}
	n := len(q.data)
	if n == 0 || len(*q.data[n-1]) >= batchBytes {
		fresh := s.buffers.Get(0)
		b, err := frame(*fresh, m)
		if err != nil {
			return err
		}
		*fresh = b
		q.data = append(q.data, fresh)
		return nil
	}
	b, err := frame(*q.data[n-1], m)
	if err == nil {
		*q.data[n-1] = b
	}
	return err
}

// frame appends m behind its length.
func frame(dst []byte, m wire.Message) ([]byte, error) {
	start := len(dst)
	dst = append(dst, make([]byte, lengthBytes)...)
	dst = wire.Append(dst, m)
	n := len(dst) - start - lengthBytes
	if n > MaxMessageBytes {
		return nil, &TooLargeError{Bytes: n, Limit: MaxMessageBytes}
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(n))
	return dst, nil
}

func lowKind(m wire.Message) int {
	switch m.(type) {
	case *wire.Event:
		return 0
	case *wire.Stats:
		return 1
	case *wire.Log:
		return 2
	}
	return -1
}

// addLow queues l, and returns how many of its kind it has dropped for it. The newest stays: it is the one that counts.
func (q *queue) addLow(l lowly) (dropped uint64) {
	if k := l.kind; k >= 0 {
		for q.counts[k] > 0 && (q.counts[k] >= maxWaiting || q.bytes[k]+len(l.bytes) > maxWaitingBytes) {
			q.dropOldest(k)
			dropped++
		}
		q.counts[k]++
		q.bytes[k] += len(l.bytes)
	}
	q.low = append(q.low, l)
	return dropped
}

func (q *queue) dropOldest(kind int) {
	for i, l := range q.low {
		if l.kind == kind {
			q.counts[kind]--
			q.bytes[kind] -= len(l.bytes)
			q.low = append(q.low[:i], q.low[i+1:]...)
			return
		}
	}
}

// takeLow moves the oldest messages that fit into one batch to dst.
func (q *queue) takeLow(dst []byte) []byte {
	taken := 0
	for _, l := range q.low {
		if len(dst) > 0 && len(dst)+len(l.bytes) > batchBytes {
			break
		}
		dst = append(dst, l.bytes...)
		if l.kind >= 0 {
			q.counts[l.kind]--
			q.bytes[l.kind] -= len(l.bytes)
		}
		taken++
	}
	rest := copy(q.low, q.low[taken:])
	clear(q.low[rest:])
	q.low = q.low[:rest]
	return dst
}

// beat queues a Ping or a Pong, one of each at most.
func (s *Session) beat(m wire.Message) {
	s.mu.Lock()
	if _, ok := m.(*wire.Ping); ok {
		s.queue.ping = true
	} else {
		s.queue.pong = true
	}
	s.mu.Unlock()
	s.poke()
}

// poke wakes the writer.
func (s *Session) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// start begins to write.
func (s *Session) start() {
	// Owner: the session. Ends when everything was written after CloseSend, or when the session has ended, which cancels
	// the stream. The connection waits for it, and a node's Serve.
	go s.write()
}

// write is the only sender of the stream.
func (s *Session) write() {
	defer close(s.flushed)
	var batches []*[]byte
	for {
		var finished bool
		batches, finished = s.take(batches[:0])
		for i, b := range batches {
			batches[i] = nil
			if err := s.stream.SendMsg(&mem.BufferSlice{mem.NewBuffer(b, &s.buffers)}); err != nil {
				s.cannotSend(err)
				return
			}
		}
		switch {
		case len(batches) > 0:
		case finished:
			if s.half != nil {
				_ = s.half() // the error is that of the stream, which Recv tells
			}
			return
		default:
			select {
			case <-s.wake:
			case <-s.done:
				return
			}
		}
	}
}

// take moves what is to be written next to dst; finished says that nothing will come any more.
func (s *Session) take(dst []*[]byte) (batches []*[]byte, finished bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queue
	if s.err != nil {
		return dst, true
	}
	if q.ping || q.pong {
		b := s.buffers.Get(0)
		if q.ping {
			*b, _ = frame(*b, &wire.Ping{})
		}
		if q.pong {
			*b, _ = frame(*b, &wire.Pong{})
		}
		q.ping, q.pong = false, false
		dst = append(dst, b)
	}
	switch {
	case len(q.data) > 0:
		dst = append(dst, q.data...)
		clear(q.data)
		q.data = q.data[:0]
	case len(q.low) > 0:
		b := s.buffers.Get(0)
		*b = q.takeLow(*b)
		dst = append(dst, b)
	}
	return dst, s.closing && len(dst) == 0
}

// cannotSend notes that the stream takes nothing any more. A coordinator's session goes on until Recv has returned what
// has come, and the reason.
func (s *Session) cannotSend(err error) {
	if s.role == node {
		s.lost(err)
		return
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the stream has ended")
	}
	s.mu.Lock()
	s.unsent = &LostError{Err: err, Conn: s.connCause()}
	s.queue = queue{}
	s.mu.Unlock()
}
