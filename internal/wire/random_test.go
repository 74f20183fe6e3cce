package wire_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/weirflow/weir/internal/wire"
)

// A dice makes random messages that keep to the rules. Small numbers and the usual case are frequent, and so are the ends.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 4))} }

func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

// number is from 0 to limit.
func (d dice) number(limit int64) int64 {
	switch d.IntN(6) {
	case 0, 1:
		return 0
	case 2:
		return limit - d.Int64N(min(limit, 3)+1)
	case 3:
		return min(limit, d.Int64N(1<<d.IntN(63)))
	}
	return min(limit, d.Int64N(200))
}

func (d dice) bytes() []byte {
	n := d.IntN(10)
	if d.oneIn(20) {
		n = 120 + d.IntN(200)
	}
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return b
}

func (d dice) text() string { return string(d.bytes()) }

func (d dice) path() (p string) {
	if d.oneIn(2) {
		return ""
	}
	for range 1 + d.IntN(3) {
		p += "." + strconv.FormatInt(d.number(math.MaxUint32), 10)
	}
	return p
}

// list makes a slice of some elements, or nil.
func list[T any](d dice, one func() T) (l []T) {
	n := d.IntN(6)
	if d.oneIn(20) {
		n = 100 + d.IntN(100)
	}
	for range n {
		l = append(l, one())
	}
	return l
}

func (d dice) stage() int { return int(d.number(wire.MaxStage)) }

func (d dice) count() int { return int(d.number(wire.MaxCount)) }

func (d dice) block() wire.Block {
	offset := d.number(math.MaxInt64)
	return wire.Block{Offset: uint64(offset), Length: uint64(d.number(math.MaxInt64 - offset)), Generation: uint32(d.number(math.MaxUint32))}
}

func (d dice) payload() (p wire.Payload) {
	p.Bytes = d.bytes()
	if d.oneIn(8) {
		p.Blocks = list(d, d.block)
	}
	return p
}

// identity makes one, usually that behind the one before.
func (d dice) identity(before *wire.Identity) wire.Identity {
	id := *before
	switch d.IntN(8) {
	case 0:
		id = wire.Identity{Source: d.stage(), Epoch: d.count(), Index: d.number(math.MaxInt64), Path: d.path()}
	case 1:
		id.Path = d.path()
	default:
		id.Path = ""
		if id.Index < math.MaxInt64 {
			id.Index++
		}
	}
	*before = id
	return id
}

func (d dice) failures() []wire.Failure {
	before := wire.Identity{Index: -1}
	return list(d, func() wire.Failure {
		f := wire.Failure{Stage: d.stage(), Identity: d.identity(&before), Attempts: d.count(), Finished: d.number(math.MaxInt64), Fatal: d.oneIn(2), Hung: d.oneIn(2), Poison: d.oneIn(2), Error: d.bytes()}
		if f.Identity.Index < 0 {
			f.Identity.Index = 0
		}
		if f.Lettered = d.oneIn(2); f.Lettered {
			f.Letter = d.payload()
		}
		return f
	})
}

func (d dice) outputs() []wire.Output {
	if d.oneIn(2) {
		return []wire.Output{{Payload: wire.Payload{Bytes: d.bytes()}}}
	}
	return list(d, func() wire.Output {
		o := wire.Output{Payload: d.payload()}
		if d.oneIn(2) {
			o.Port, o.Path = d.stage(), d.path()
		}
		return o
	})
}

func (d dice) id(next *uint64) uint64 {
	if d.oneIn(4) {
		*next = d.Uint64() >> d.IntN(64)
	}
	*next++
	return *next - 1
}

func (d dice) position() wire.Position {
	return wire.Position{Source: d.stage(), Epoch: d.count(), Index: d.number(math.MaxInt64)}
}

func comparePositions(a, b wire.Position) int {
	if a.Source != b.Source {
		return a.Source - b.Source
	}
	return a.Epoch - b.Epoch
}

func (d dice) positions() []wire.Position {
	l := list(d, d.position)
	slices.SortFunc(l, comparePositions)
	return slices.CompactFunc(l, func(a, b wire.Position) bool { return comparePositions(a, b) == 0 })
}

func (d dice) spans() (l []wire.Span) {
	for _, p := range d.positions() {
		at := p.Index / 2
		for range d.IntN(4) {
			if at > math.MaxInt64-10 {
				break
			}
			s := wire.Span{Source: p.Source, Epoch: p.Epoch, From: at + d.Int64N(3), Fate: uint8(d.IntN(4))}
			s.To = s.From + 1 + d.number((math.MaxInt64-s.From)/2)
			at = s.To
			l = append(l, s)
		}
	}
	return l
}

func (d dice) members(at *wire.Member) []wire.Member {
	one := func() wire.Member {
		if at.Path == "" {
			at.Index += at.N
		}
		at.N, at.Path = 1, ""
		switch {
		case d.oneIn(6) || at.Index > math.MaxInt64-100:
			p := d.position()
			*at = wire.Member{Source: p.Source, Epoch: p.Epoch, Index: p.Index / 2, N: 1 + d.number((math.MaxInt64-p.Index)/2)}
		case d.oneIn(6):
			at.N = 1 + d.Int64N(50)
		case d.oneIn(3):
			at.Index -= d.Int64N(2) * min(1, at.Index)
			if at.Path = d.path(); at.Path != "" {
				at.N = 1 + d.number(wire.MaxCount-1)
			}
		}
		return *at
	}
	if d.oneIn(2) {
		return []wire.Member{one()}
	}
	return list(d, one)
}

func (d dice) frame() *wire.Frame {
	m := &wire.Frame{Seq: d.Uint64() >> d.IntN(64), Yielded: d.positions(), Done: d.spans(), Failed: d.failures()}
	var at wire.Member
	epoch := 0
	first := true
	m.Outputs = list(d, func() wire.FrameOutput {
		o := wire.FrameOutput{Payload: d.payload()}
		if o.Sibling = !first && d.oneIn(4); !o.Sibling {
			o.Members = d.members(&at)
		}
		first = false
		if !o.Sibling && d.oneIn(9) {
			o.Failed, o.Payload = true, wire.Payload{}
		}
		if !o.Failed && d.oneIn(5) {
			epoch, o.Path = d.count(), d.path()
		}
		o.Epoch = epoch
		return o
	})
	m.Epochs = d.ends(len(m.Outputs))
	m.Finished = list(d, func() int64 { return d.number(math.MaxInt64) })
	return m
}

// ends makes those of epochs among n elements.
func (d dice) ends(n int) (l []wire.EpochEnd) {
	for i, k := d.IntN(5), 0; i < 20 && d.oneIn(2); i++ {
		k += d.IntN(n - k + 1)
		l = append(l, wire.EpochEnd{Epoch: i, After: k})
	}
	return l
}

func (d dice) open() *wire.Open {
	m := &wire.Open{Run: d.text(), Pipeline: d.text(), From: d.text(), To: d.text(), Copy: d.count(), Incarnation: d.count(), Build: d.text(), Config: d.bytes(), Mode: wire.Keyed, Window: d.count(), Grace: time.Duration(d.number(math.MaxInt64)), Arena: uint64(d.number(math.MaxInt64))}
	for v := range d.IntN(wire.MaxVersions + 1) {
		m.Versions = append(m.Versions, uint32(v*v))
	}
	m.Fingerprint[d.IntN(32)] = byte(d.Uint32())
	if d.oneIn(2) {
		return m
	}
	m.Mode, m.Next, m.Epochs, m.Done, m.Stop = wire.Stream, d.Uint64()>>d.IntN(64), d.count(), d.spans(), d.positions()
	for _, p := range d.positions() {
		at := p.Index / 2
		for range d.IntN(3) {
			m.Partial = append(m.Partial, wire.Member{Source: p.Source, Epoch: p.Epoch, Index: at, N: 1 + d.Int64N(4), Path: d.path()})
			at += d.Int64N(3)
		}
	}
	m.Box = uint64(d.number(math.MaxInt64))
	m.Suspects = list(d, func() wire.Suspect {
		s := wire.Suspect{Stage: d.stage(), Source: d.stage(), Epoch: d.count(), From: d.number(math.MaxInt64 - 1), Deaths: d.count(), Exact: d.oneIn(2)}
		s.To = s.From + 1 + d.number(math.MaxInt64-1-s.From)
		if s.Exact {
			s.Path, s.Poison = d.path(), d.oneIn(2)
		}
		return s
	})
	return m
}

// message makes one of the kind with the number k, from 0.
func (d dice) message(k int) wire.Message {
	var next uint64
	switch k {
	case 0:
		return d.open()
	case 1:
		return &wire.Ready{Version: d.Uint32(), Build: d.text(), Boot: [16]byte{15: byte(d.Uint32())}}
	case 2:
		return &wire.Refuse{Code: wire.Code(1 + d.IntN(255)), Text: d.text()}
	case 3:
		before := wire.Identity{Index: -1}
		m := &wire.Task{Isolated: d.oneIn(2), Items: list(d, func() wire.Item {
			it := wire.Item{ID: d.id(&next), Identity: d.identity(&before), Payload: d.payload()}
			if it.Identity.Index < 0 {
				it.Identity.Index = 0
			}
			if d.oneIn(5) {
				it.Skip, it.Attempt = d.count(), d.count()
			}
			return it
		})}
		m.Ends = d.ends(len(m.Items))
		return m
	case 4:
		return &wire.End{Last: d.Uint64() >> d.IntN(64)}
	case 5:
		return &wire.Limit{Frames: d.Uint64() >> d.IntN(64)}
	case 6:
		return &wire.Drain{}
	case 7:
		return &wire.Stopped{At: d.positions()}
	case 8:
		return &wire.Cancel{Reason: d.text()}
	case 9:
		return &wire.Result{Entries: list(d, func() wire.Entry {
			e := wire.Entry{ID: d.id(&next), Outputs: d.outputs()}
			if d.oneIn(4) {
				e.Failures = d.failures()
			}
			return e
		}), Finished: list(d, func() int64 { return d.number(math.MaxInt64) })}
	case 10:
		return &wire.Part{ID: d.Uint64() >> d.IntN(64), From: d.count(), Outputs: d.outputs()}
	case 11:
		return d.frame()
	case 12:
		return &wire.Abort{Error: d.bytes()}
	case 13:
		return &wire.Event{Body: d.bytes()}
	case 14:
		return &wire.Stats{Body: d.bytes()}
	case 15:
		return &wire.Log{Text: d.text()}
	case 16:
		return &wire.Profile{ID: d.Uint64(), Name: d.text(), For: time.Duration(d.number(math.MaxInt64)), Part: d.bytes(), Last: d.oneIn(2)}
	case 17:
		return &wire.Release{Blocks: list(d, d.block)}
	case 18:
		return &wire.Ping{}
	case 19:
		return &wire.Pong{}
	case 20:
		return &wire.Skip{Epoch: d.count()}
	}
	return nil
}

// kinds is how many kinds of messages there are.
const kinds = 21
