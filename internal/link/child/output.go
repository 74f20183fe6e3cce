package child

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"time"
)

const (
	// maxLineBytes is where a line is cut in two.
	maxLineBytes = 4 << 10
	// maxLines is how many lines may wait for Spec.Output: 1 MiB at most.
	maxLines = 256
	// patience is how long altogether a child may be held up by Spec.Output before lines are dropped, and perLine is what
	// each line that was handed on gives back of it. So nothing is lost if a line takes less than that, and a slower Output
	// does not become the child's speed.
	patience = 100 * time.Millisecond
	perLine  = time.Millisecond
	// farewell is how long after a death its last lines may take.
	farewell = 25 * time.Millisecond
	// maxLateBytes is what is read of a pipe after its child's death: more than it holds, unless somebody still writes.
	maxLateBytes = 1 << 20
)

// output reads what a child prints. It never keeps the child from printing for longer than its patience.
type output struct {
	stdout, stderr *os.File // the ends to read from
	told           func(line []byte)

	lines   chan []byte
	givenUp chan struct{} // closed when nobody will wait for told any longer
	handed  chan struct{} // closed after the last call of told
	readers sync.WaitGroup

	tail tail // of stderr; owned by its reader until readers are done

	mu      sync.Mutex
	left    time.Duration // of the patience; guarded by mu
	dropped int           // guarded by mu
}

func newOutput(stdout, stderr *os.File, told func([]byte)) *output {
	return &output{stdout: stdout, stderr: stderr, told: told, left: patience, lines: make(chan []byte, maxLines),
		givenUp: make(chan struct{}), handed: make(chan struct{})}
}

func (o *output) start() {
	o.readers.Add(2)
	// Owner: the Process. Ends at the end of the pipe, or when finish has set its deadline. finish waits for it.
	go o.read(o.stdout, nil)
	// Owner: the Process. Ends at the end of the pipe, or when finish has set its deadline. finish waits for it.
	go o.read(o.stderr, &o.tail)
	// Owner: the Process. Ends when finish closes lines, or given up with the call that runs. finish waits for it, a while.
	go o.hand()
}

// finish is called when the child is dead: it reads what is left, and hands it on.
func (o *output) finish() {
	// Whoever inherited the pipes from the child may keep them open: their end is nothing to wait for.
	_ = o.stdout.SetReadDeadline(time.Unix(1, 0))
	_ = o.stderr.SetReadDeadline(time.Unix(1, 0))
	late := time.AfterFunc(farewell, func() { close(o.givenUp) })
	o.readers.Wait()
	close(o.lines)
	select {
	case <-o.handed:
	case <-o.givenUp:
		for range o.lines {
			o.spend(0, 1)
		}
		select {
		case <-o.handed:
		case <-time.After(farewell): // told is at a line, and stuck: that one is its own
		}
	}
	late.Stop()
}

// read reads one of the pipes, and keeps its tail if there is one to keep it in.
func (o *output) read(f *os.File, keep *tail) {
	defer o.readers.Done()
	defer f.Close()
	var (
		buf = make([]byte, 32<<10)
		l   = splitter{each: func(line []byte) {
			if keep != nil {
				keep.line(line)
			}
			o.line(line)
		}}
	)
	take := func(b []byte) {
		if keep != nil {
			keep.write(b)
		}
		l.write(b)
	}
	for {
		n, err := f.Read(buf)
		take(buf[:n])
		if err == nil {
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			for late := 0; late < maxLateBytes; late += n {
				if n = readNow(f, buf); n <= 0 {
					break
				}
				take(buf[:n])
			}
		}
		l.flush()
		return
	}
}

// line hands a line on. If too many wait, it waits itself, as long as there is patience.
func (o *output) line(line []byte) {
	if o.told == nil {
		return
	}
	line = bytes.Clone(bytes.TrimSuffix(line, []byte("\r")))
	select {
	case o.lines <- line:
		return
	default:
	}
	o.mu.Lock()
	left := o.left
	o.mu.Unlock()
	start := time.Now()
	if left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case o.lines <- line:
			o.spend(time.Since(start), 0)
			return
		case <-timer.C:
		case <-o.givenUp:
		}
	}
	o.spend(time.Since(start), 1)
}

func (o *output) spend(d time.Duration, dropped int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left = min(o.left-d, patience)
	o.dropped += dropped
}

// lost is how many lines were dropped.
func (o *output) lost() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}

// hand calls Spec.Output.
func (o *output) hand() {
	defer close(o.handed)
	for line := range o.lines {
		select {
		case <-o.givenUp:
			o.spend(0, 1)
			continue
		default:
		}
		o.told(line)
		o.spend(-perLine, 0)
	}
}

// A splitter makes lines of bytes.
type splitter struct {
	each func(line []byte)
	rest []byte // of a line that has not ended
}

func (s *splitter) write(b []byte) {
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n')
		switch room := maxLineBytes - len(s.rest); {
		case n >= 0 && n <= room:
			line := b[:n]
			if len(s.rest) > 0 {
				line = append(s.rest, line...)
			}
			s.each(line)
			s.rest = s.rest[:0]
			b = b[n+1:]
		case room == 0: // and no end of line yet
			s.flush()
		default:
			n := min(len(b), room)
			s.rest = append(s.rest, b[:n]...)
			b = b[n:]
		}
	}
}

// flush makes a line of what has not ended.
func (s *splitter) flush() {
	if len(s.rest) > 0 {
		s.each(s.rest)
		s.rest = s.rest[:0]
	}
}
