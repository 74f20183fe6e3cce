package deadletter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/weirflow/weir/stages"
)

// linesVersion stands first in each line, and lineMark is how a line of ours begins.
const (
	linesVersion = 1
	lineMark     = `{"letter":1,`
)

var (
	errNoLetters = errors.New("it does not hold dead letters")
	errCut       = fmt.Errorf("the last letter is cut short: %w", io.ErrUnexpectedEOF)
	errLong      = errors.New("longer than a letter may be")
)

// lines is a file of JSON lines.
type lines struct{ maxBytes int }

// A line is a letter as JSON has it.
type line struct {
	Letter   int    `json:"letter"`
	Pipeline text   `json:"pipeline"`
	Stage    text   `json:"stage"`
	Item     itemID `json:"item"`
	Attempts int    `json:"attempts"`
	Time     stamp  `json:"time"`
	Errors   []text `json:"errors"`
	Codec    text   `json:"codec"`
	Shape    text   `json:"shape"`
	Payload  []byte `json:"payload"`
}

type itemID struct {
	Source text  `json:"source"`
	Epoch  int   `json:"epoch"`
	Index  int64 `json:"index"`
	Path   text  `json:"path"`
}

func (f lines) append(dst []byte, l stages.Letter) ([]byte, error) {
	out := line{
		Letter: linesVersion, Pipeline: text(l.Pipeline), Stage: text(l.Stage),
		Item:     itemID{text(l.Item.Source), l.Item.Epoch, l.Item.Index, text(l.Item.Path)},
		Attempts: l.Attempts, Time: stamp(l.Time), Errors: convert[text](l.Errors), Codec: text(l.Codec), Shape: text(l.Shape), Payload: l.Payload,
	}
	b := bytes.NewBuffer(dst)
	if err := plainJSON(b, out); err != nil {
		return dst, err
	}
	if b.Len()-len(dst) > f.maxBytes {
		return dst, errLong
	}
	return b.Bytes(), nil
}

func (f lines) read(r io.Reader, yield func(stages.Letter, error) bool) {
	in := bufio.NewReaderSize(r, 1<<16)
	var buf []byte
	for n := 1; ; n++ {
		b, err := f.readLine(in, buf[:0])
		if cap(b) <= keptBytes {
			buf = b
		}
		if errors.Is(err, io.EOF) {
			if len(b) == 0 {
				return
			}
			l, _, err := lastLine(b, n == 1)
			if err != nil {
				yield(stages.Letter{}, atLine(n, err))
			} else if len(bytes.TrimSpace(b)) > 0 {
				yield(l, nil)
			}
			return
		}
		if err != nil && !errors.Is(err, errLong) {
			yield(stages.Letter{}, err)
			return
		}
		var l stages.Letter
		if err == nil {
			if len(bytes.TrimSpace(b)) == 0 {
				continue
			}
			l, err = parseLine(b)
		}
		if err != nil {
			err = atLine(n, err)
		}
		if !yield(l, err) {
			return
		}
	}
}

func atLine(n int, err error) error { return fmt.Errorf("line %d: %w", n, err) }

// readLine appends the next line to buf, without its end; with io.EOF it is the last one, and has none. Of a line that is
// too long it returns errLong, and has read all of it.
func (f lines) readLine(in *bufio.Reader, buf []byte) ([]byte, error) {
	long := false
	for {
		b, err := in.ReadSlice('\n')
		if long = long || len(buf)+len(b) > f.maxBytes; long {
			buf = nil
		} else {
			buf = append(buf, b...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLong
		case err != nil:
			return buf, err
		default:
			return buf[:len(buf)-1], nil
		}
	}
}

func parseLine(b []byte) (stages.Letter, error) {
	if !utf8.Valid(b) { // the decoder would put something else in its place
		return stages.Letter{}, errors.New("not a dead letter: it is not UTF-8")
	}
	var in line
	if err := strictJSON(b, &in); err != nil {
		return stages.Letter{}, fmt.Errorf("not a dead letter: %w", err)
	}
	if in.Letter != linesVersion {
		return stages.Letter{}, fmt.Errorf("not a dead letter of version %d", linesVersion)
	}
	return stages.Letter{
		Pipeline: string(in.Pipeline), Stage: string(in.Stage),
		Item:     stages.ID{Source: string(in.Item.Source), Epoch: in.Item.Epoch, Index: in.Item.Index, Path: string(in.Item.Path)},
		Attempts: in.Attempts, Time: time.Time(in.Time), Errors: convert[string](in.Errors), Codec: string(in.Codec), Shape: string(in.Shape), Payload: in.Payload,
	}, nil
}

// lastLine looks at a last line that has no end. It may be a whole letter, of which wholeBytes are to be kept; one that is cut
// short (errCut), also by zeros, which some file systems show where data had not reached the disk; or something else. Zeros
// alone are no letter in a file without others: a disk image may begin like that.
func lastLine(b []byte, alone bool) (l stages.Letter, wholeBytes int, err error) {
	written := bytes.TrimRight(b, "\x00")
	if len(written) == 0 && !alone {
		return l, 0, errCut
	}
	l, err = parseLine(written)
	if err == nil {
		return l, len(written), nil
	}
	if len(bytes.TrimSpace(b)) == 0 && !alone {
		return l, len(b), nil
	}
	if len(written) > 0 && begins(written, lineMark) {
		var whole json.RawMessage
		if json.NewDecoder(bytes.NewReader(written)).Decode(&whole) == io.ErrUnexpectedEOF {
			return l, 0, errCut
		}
	}
	return l, 0, err
}

// begins reports whether b begins with mark, or is the beginning of it.
func begins(b []byte, mark string) bool {
	n := min(len(b), len(mark))
	return string(b[:n]) == mark[:n]
}

func (f lines) end(ctx context.Context, r io.ReaderAt, size int64) (end int64, missing string, err error) {
	if size == 0 {
		return 0, "", nil
	}
	first, err := f.readLine(bufio.NewReader(io.NewSectionReader(r, 0, size)), nil)
	alone := errors.Is(err, io.EOF)
	if err == nil {
		_, err = parseLine(first)
	}
	if err != nil && !alone {
		return 0, "", fmt.Errorf("%w: line 1: %w", errNoLetters, err)
	}
	start, err := f.lastStart(ctx, r, size)
	if err != nil || start == size {
		return size, "", err
	}
	last := make([]byte, size-start)
	if _, err := r.ReadAt(last, start); err != nil && !errors.Is(err, io.EOF) {
		return 0, "", err
	}
	_, whole, err := lastLine(last, alone)
	switch {
	case err == nil:
		return start + int64(whole), "\n", nil
	case errors.Is(err, errCut):
		return start, "", nil
	case alone:
		return 0, "", fmt.Errorf("%w: line 1: %w", errNoLetters, err)
	}
	return 0, "", fmt.Errorf("its last line is neither a dead letter nor the beginning of one: %w", err)
}

// lastStart returns where the last line begins: size if the file ends with the end of a line.
func (f lines) lastStart(ctx context.Context, r io.ReaderAt, size int64) (int64, error) {
	block := make([]byte, 1<<16)
	for to := size; to > 0; {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		from := max(0, to-int64(len(block)))
		if size-from > int64(f.maxBytes) {
			return 0, fmt.Errorf("its last line is %w", errLong)
		}
		b := block[:to-from]
		if _, err := r.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		to = from
	}
	return 0, nil
}
