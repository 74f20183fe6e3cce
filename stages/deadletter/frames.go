package deadletter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/stages"
)

// A frame is the msgpack array ["letter1", sum of the body, sum of that and of the body's length, body], in which both
// numbers are uint32 and the body is bin 32, so that its head has always the same size. The sums are CRC-32C. The body is a
// record. Because a length has a sum of its own, one that reaches beyond the file means that the file was cut short, never
// that a bit has turned over in the middle of it.
const (
	frameMark = "\x94\xa7letter1\xce"
	sumAt     = len(frameMark)
	headSumAt = sumAt + 4 + 1
	lengthAt  = headSumAt + 4 + 1
	headBytes = lengthAt + 4
)

// A record is a letter as msgpack has it: an array of its fields in this order. A change to it is another version, with
// another mark.
type record struct {
	Pipeline string
	Stage    string
	Source   string
	Epoch    int
	Index    int64
	Path     string
	Attempts int
	Time     time.Time
	Errors   []string
	Codec    string
	Payload  []byte
	Shape    string
}

var (
	errNoFrame = errors.New("not a dead letter")
	errSum     = errors.New("not a dead letter: its checksum is wrong")
)

// frames is a file of frames.
type frames struct {
	codec    *msgpack.Codec
	table    *crc32.Table
	maxBytes int
}

func newFrames(maxBytes int) frames {
	return frames{new(msgpack.Codec), crc32.MakeTable(crc32.Castagnoli), maxBytes}
}

func (f frames) append(dst []byte, l stages.Letter) ([]byte, error) {
	from := len(dst)
	dst = append(dst, make([]byte, headBytes)...)
	dst, err := f.codec.Append(dst, record{
		Pipeline: l.Pipeline, Stage: l.Stage,
		Source: l.Item.Source, Epoch: l.Item.Epoch, Index: l.Item.Index, Path: l.Item.Path,
		Attempts: l.Attempts, Time: l.Time.UTC(), Errors: l.Errors, Codec: l.Codec, Payload: l.Payload, Shape: l.Shape,
	})
	if err != nil {
		return dst, err
	}
	b, body := dst[from:from+headBytes], dst[from+headBytes:]
	if len(body) > f.maxBytes {
		return dst, errLong
	}
	copy(b, frameMark)
	binary.BigEndian.PutUint32(b[sumAt:], crc32.Checksum(body, f.table))
	b[headSumAt-1] = 0xce
	b[lengthAt-1] = 0xc6
	binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(body)))
	binary.BigEndian.PutUint32(b[headSumAt:], f.headSum(b))
	return dst, nil
}

func (f frames) headSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[sumAt:sumAt+4], f.table), f.table, b[lengthAt:headBytes])
}

// A head is what the head of a frame says of its body.
type head struct {
	sum    uint32
	length int64
}

func (f frames) head(b []byte) (head, bool) {
	h := head{binary.BigEndian.Uint32(b[sumAt:]), int64(binary.BigEndian.Uint32(b[lengthAt:]))}
	ok := bytes.HasPrefix(b, []byte(frameMark)) && b[headSumAt-1] == 0xce && b[lengthAt-1] == 0xc6 &&
		f.headSum(b) == binary.BigEndian.Uint32(b[headSumAt:]) && h.length <= int64(f.maxBytes)
	return h, ok
}

func (f frames) read(r io.Reader, yield func(stages.Letter, error) bool) {
	in := bufio.NewReaderSize(r, 1<<16)
	var body bytes.Buffer
	for at := int64(0); ; {
		h, err := f.next(in, at == 0)
		if err == io.EOF {
			return
		}
		if err == nil {
			err = fill(&body, in, h.length)
		}
		if err != nil {
			yield(stages.Letter{}, atOffset(at, err)) // where the next frame begins cannot be known
			return
		}
		l, err := f.parse(h, body.Bytes())
		if err != nil {
			err = atOffset(at, err)
		}
		if !yield(l, err) {
			return
		}
		at += int64(headBytes) + h.length
	}
}

func atOffset(at int64, err error) error { return fmt.Errorf("offset %d: %w", at, err) }

// next reads the head of a frame. io.EOF is the end between two frames, errCut one within a head. Some file systems show zeros
// where data had not reached the disk: they cut a head short as well. Zeros alone are no letter in a file without others: a
// disk image may begin like that.
func (f frames) next(in io.Reader, alone bool) (h head, err error) {
	var b [headBytes]byte
	n, err := io.ReadFull(in, b[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return h, err
	}
	if n == headBytes {
		if h, ok := f.head(b[:]); ok {
			return h, nil
		}
		if zeros, err := onlyZeros(in); err != nil {
			return h, err
		} else if !zeros {
			return h, errNoFrame
		}
	}
	written := bytes.TrimRight(b[:n], "\x00")
	if len(written) == headBytes || len(written) == 0 && alone || !begins(written, frameMark) {
		return h, errNoFrame
	}
	return h, errCut
}

// onlyZeros reads the rest of in.
func onlyZeros(in io.Reader) (bool, error) {
	b := make([]byte, 1<<15)
	for {
		n, err := in.Read(b)
		if len(bytes.Trim(b[:n], "\x00")) > 0 {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
}

// fill reads n bytes into buf, which grows no further than there is something to read.
func fill(buf *bytes.Buffer, in io.Reader, n int64) error {
	if buf.Reset(); buf.Cap() > keptBytes {
		*buf = bytes.Buffer{}
	}
	_, err := io.CopyN(buf, in, n)
	if errors.Is(err, io.EOF) {
		return errCut
	}
	return err
}

func (f frames) parse(h head, body []byte) (l stages.Letter, err error) {
	if crc32.Checksum(body, f.table) != h.sum {
		return l, errSum
	}
	var in record
	if err := f.codec.Decode(body, &in); err != nil {
		return l, fmt.Errorf("not a dead letter: %w", err)
	}
	return stages.Letter{
		Pipeline: in.Pipeline, Stage: in.Stage,
		Item:     stages.ID{Source: in.Source, Epoch: in.Epoch, Index: in.Index, Path: in.Path},
		Attempts: in.Attempts, Time: in.Time, Errors: in.Errors, Codec: in.Codec, Shape: in.Shape, Payload: in.Payload,
	}, nil
}

func (f frames) end(ctx context.Context, r io.ReaderAt, size int64) (end int64, missing string, err error) {
	for at := int64(0); ; {
		if ctx.Err() != nil {
			return 0, "", context.Cause(ctx)
		}
		h, err := f.next(io.NewSectionReader(r, at, size-at), at == 0)
		after := at + int64(headBytes) + h.length
		switch {
		case err == io.EOF, errors.Is(err, errCut), err == nil && after > size:
			return at, "", nil
		case errors.Is(err, errNoFrame) && at == 0:
			return 0, "", errNoLetters
		case err != nil:
			return 0, "", atOffset(at, err)
		}
		at = after
	}
}
