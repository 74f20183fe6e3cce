package wire

// Decode reads a message that Append has written. The slices of bytes in it are parts of b, which must not change while
// they are used; strings are copies. What Append could not have written is an *Error; there is no other error. Decode
// never panics, and what it allocates is less than 100 bytes for each byte of b and 1 KiB, and never more than 300 MiB.
func Decode(b []byte) (Message, error) {
	r := reader{b: b}
	if len(b) > MaxMessage {
		r.fail(oversize)
	}
	k := kind(r.byte())
	m := r.message(k)
	if r.reason == "" {
		return m, nil
	}
	return nil, &Error{Kind: k.String(), Offset: r.at, Reason: r.reason}
}

func (r *reader) message(k kind) Message {
	switch k {
	case kindTask:
		return r.task()
	case kindResult:
		return r.result()
	case kindFrame:
		return r.frame()
	}
	m := r.small(k)
	r.end(0)
	return m
}

// small reads a message of the kinds that are rare, or short.
func (r *reader) small(k kind) Message {
	switch k {
	case kindOpen:
		return r.open()
	case kindReady:
		m := &Ready{Version: uint32(r.number(maxVersion)), Build: r.text(MaxName)}
		r.fixed(m.Fingerprint[:])
		r.fixed(m.Boot[:])
		return m
	case kindRefuse:
		m := &Refuse{Code: Code(r.byte())}
		if m.Code == 0 {
			r.fail(noCode)
		}
		m.Text = r.text(MaxText)
		return m
	case kindEnd:
		return &End{Last: r.uvarint()}
	case kindLimit:
		return &Limit{Frames: r.uvarint()}
	case kindDrain:
		return &Drain{}
	case kindStopped:
		return &Stopped{At: r.positions(r.count(minPosition))}
	case kindCancel:
		return &Cancel{Reason: r.text(MaxText)}
	case kindPart:
		return r.part()
	case kindAbort:
		return &Abort{Error: r.take(MaxText)}
	case kindEvent:
		return &Event{Body: r.take(MaxBody)}
	case kindStats:
		return &Stats{Body: r.take(MaxBody)}
	case kindLog:
		return &Log{Text: r.text(MaxText)}
	case kindProfile:
		m := &Profile{Last: r.bits(profileLast) != 0, ID: r.uvarint(), Name: r.text(MaxName)}
		m.For = r.duration()
		m.Part = r.take(MaxBody)
		return m
	case kindRelease:
		n := r.count(minBlock)
		m := &Release{Blocks: several[Block](n)}
		r.readBlocks(m.Blocks)
		return m
	case kindPing:
		return &Ping{}
	case kindPong:
		return &Pong{}
	case kindSkip:
		return &Skip{Epoch: r.epoch()}
	}
	r.off = 0
	r.fail(unknown)
	return nil
}

// The bytes that elements take at least.
const (
	minItem        = 2
	minEntry       = 1
	minFailure     = 5
	minFrameOutput = 2
	minMember      = 1
	minPosition    = 3
	minSpan        = 3
	minEpochEnd    = 2
	minBlock       = 3
	minSuspect     = 7

	maxVersion = 1<<32 - 1
)

func (r *reader) open() *Open {
	m := &Open{Versions: r.versions()}
	m.Run, m.Pipeline = r.text(MaxName), r.text(MaxName)
	m.From, m.To = r.text(MaxName), r.text(MaxName)
	m.Copy, m.Incarnation = int(r.number(MaxCount)), int(r.number(MaxCount))
	m.Build = r.text(MaxName)
	r.fixed(m.Fingerprint[:])
	m.Config = r.take(MaxConfig)
	m.Mode = Mode(r.byte())
	if m.Mode != Keyed && m.Mode != Stream {
		r.fail(noMode)
	}
	m.Window = int(r.number(MaxCount))
	m.Grace = r.duration()
	m.Arena = r.number(MaxIndex)
	if m.Mode != Stream {
		return m
	}
	m.Next, m.Epochs = r.uvarint(), r.epoch()
	done, partial, stop := r.count(minSpan), r.count(minMember), r.count(minPosition)
	m.Done = r.spans(done)
	m.Partial = several[Member](partial)
	r.partials(m.Partial)
	m.Stop = r.positions(stop)
	r.owed -= done*minSpan + partial*minMember + stop*minPosition
	m.Box = r.number(MaxIndex)
	m.Suspects = r.suspects()
	return m
}

// suspects reads their number, and them.
func (r *reader) suspects() []Suspect {
	list := several[Suspect](r.count(minSuspect))
	for i := range list {
		s := &list[i]
		start := r.off
		bits := r.bits(suspectBits)
		if bits&suspectExact == 0 && bits != 0 && r.reason == "" {
			r.off = start
			r.fail(undefined)
		}
		s.Exact, s.Poison = bits&suspectExact != 0, bits&suspectPoison != 0
		s.Stage, s.Source, s.Epoch = r.stage(), r.stage(), r.epoch()
		s.From = int64(r.number(MaxIndex - 1))
		s.To = s.From + 1 + int64(r.number(MaxIndex-1-uint64(s.From)))
		s.Deaths = int(r.number(MaxCount))
		if bits&suspectPath != 0 {
			s.Path = r.path()
		}
		if r.reason != "" {
			return nil
		}
	}
	return list
}

// versions reads a set of versions, in ascending order.
func (r *reader) versions() []uint32 {
	n := r.count(1)
	if n > MaxVersions {
		r.fail(tooMany)
		return nil
	}
	list := several[uint32](n)
	for i := range list {
		list[i] = uint32(r.number(maxVersion))
		if i > 0 && list[i] <= list[i-1] {
			r.fail(unordered)
		}
	}
	r.owed -= n
	return list
}

// Versions reads those of an Open which Decode refuses, since it is of a later version: they stand at its beginning in
// every version. It returns nil if b is no Open.
func Versions(b []byte) []uint32 {
	r := reader{b: b}
	if kind(r.byte()) != kindOpen {
		return nil
	}
	list := r.versions()
	if r.reason != "" {
		return nil
	}
	return list
}

// partials reads members whose inputs ascend.
func (r *reader) partials(list []Member) {
	var at place
	var last Position // of the inputs so far
	for i := range list {
		m := &list[i]
		r.member(m, r.bits(memberBits), &at)
		same := m.Source == last.Source && m.Epoch == last.Epoch
		if same && m.Index < last.Index || !same && !last.before(m.Source, m.Epoch) {
			r.fail(unordered)
		}
		if r.reason != "" {
			return
		}
		last = Position{Source: m.Source, Epoch: m.Epoch, Index: m.Index}
	}
}

func (r *reader) position() Position {
	return Position{Source: r.stage(), Epoch: r.epoch(), Index: int64(r.number(MaxIndex))}
}

func (r *reader) positions(n int) []Position {
	list := several[Position](n)
	for i := range list {
		list[i] = r.position()
		if i > 0 && !list[i-1].before(list[i].Source, list[i].Epoch) {
			r.fail(unordered)
		}
		if r.reason != "" {
			return nil
		}
	}
	return list
}

func (r *reader) spans(n int) []Span {
	list := several[Span](n)
	var at Position // where the span before ends
	for i := range list {
		s := &list[i]
		bits := r.bits(spanBits)
		if bits&spanSource != 0 {
			start := r.off
			source, epoch := r.stage(), r.epoch()
			if !at.before(source, epoch) && r.reason == "" {
				r.off = start
				r.fail(unordered)
			}
			at = Position{Source: source, Epoch: epoch}
		}
		s.Source, s.Epoch, s.Fate = at.Source, at.Epoch, bits>>spanFate
		s.From = at.Index + int64(r.number(MaxIndex-uint64(at.Index)))
		if s.From == MaxIndex {
			r.fail(tooLarge)
		}
		if r.reason != "" {
			return nil
		}
		s.To = s.From + 1 + int64(r.number(MaxIndex-1-uint64(s.From)))
		at.Index = s.To
	}
	return list
}
