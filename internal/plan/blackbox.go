package plan

import (
	"encoding/binary"
	"sync"
)

// A BlackBox is memory that outlives the process: each worker notes there what it executes, by plain stores, so that who finds the
// process dead can read what it was at. What is noted last may be torn, and a process that dies writes anything anywhere: so each
// record has a sum.
//
//	slot    0  sum of all below; 0: nobody executes anything
//	        8  bits of a record: what 8, reaches 8, path 8, exact 1, stage 16 from bit 32 on
//	       16  four reaches: source and epoch, from, to
//	      112  the path
//	      248  1 while a flush is under way
type BlackBox struct {
	mem []byte

	mu   sync.Mutex
	free []int // guarded by mu: slots
}

const (
	slotBytes = 256
	// MostReaches is how many epochs of sources one record can speak of. Of an item that was made of more, it says the first ones.
	MostReaches = 4
	pathAt      = 16 + MostReaches*24
	flushAt     = slotBytes - 8
	mostPath    = flushAt - pathAt
	// BlackBoxBytes is the size of a black box: 256 workers.
	BlackBoxBytes = 256 * slotBytes
)

// What a worker can be at.
type Doing uint8

// It is at items, opens its state, or is the iterator of a source. That it flushes is told of any of them.
const (
	DoesItems Doing = 1 + iota
	DoesOpen
	DoesIterate
	doingEnd
)

// NewBlackBox returns one in mem, which is zero.
func NewBlackBox(mem []byte) *BlackBox {
	b := &BlackBox{mem: mem}
	for i := len(mem)/slotBytes - 1; i >= 0; i-- {
		b.free = append(b.free, i)
	}
	return b
}

// Take returns a slot for a worker, or nil if there is none left. A nil box has none.
func (b *BlackBox) Take() *Slot {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.free)
	if n == 0 {
		return nil
	}
	i := b.free[n-1]
	b.free = b.free[:n-1]
	return &Slot{box: b, i: i, mem: b.mem[i*slotBytes : (i+1)*slotBytes]}
}

// A Slot is one worker's. A nil Slot takes everything, and keeps nothing.
type Slot struct {
	box *BlackBox
	i   int
	mem []byte
	few [MostReaches]Reach
}

// Return gives the slot back.
func (s *Slot) Return() {
	if s == nil {
		return
	}
	s.Clear()
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.box.free = append(s.box.free, s.i)
}

// Clear says that the worker is at nothing.
func (s *Slot) Clear() {
	if s != nil {
		s.put(0, 0)
	}
}

// Flush says that a flush is under way, or is over: a death in one is no item's.
func (s *Slot) Flush(is bool) {
	switch {
	case s == nil:
	case is:
		s.put(flushAt, 1)
	default:
		s.put(flushAt, 0)
	}
}

// Items says that the worker is at items [from, to) of ids.
//
// HOT PATH: it runs for every piece.
func (s *Slot) Items(stage int, ids *IDs, from, to int) {
	if s == nil {
		return
	}
	n := ids.Reaches(from, to, s.few[:])
	s.note(DoesItems, stage, s.few[:n], to-from == 1 && ids.plain(from), "")
}

// Item says that the worker is at one item.
func (s *Slot) Item(stage int, name Name) {
	if s == nil {
		return
	}
	s.few[0] = name.Reach
	if len(name.Path) > mostPath {
		s.note(DoesItems, stage, s.few[:1], false, "")
		return
	}
	s.note(DoesItems, stage, s.few[:1], true, name.Path)
}

// Note says that the worker is at something that is no item.
func (s *Slot) Note(what Doing, stage int) {
	if s != nil {
		s.note(what, stage, nil, false, "")
	}
}

func (s *Slot) note(what Doing, stage int, of []Reach, exact bool, path string) {
	s.put(0, 0)
	s.put(flushAt, 0)
	head := uint64(what) | uint64(len(of))<<8 | uint64(len(path))<<16 | uint64(uint16(stage))<<32
	if exact {
		head |= 1 << 24
	}
	s.put(8, head)
	for i := range of {
		at := 16 + i*24
		s.put(at, uint64(uint32(of[i].Source))<<32|uint64(uint32(of[i].Epoch)))
		s.put(at+8, uint64(of[i].From))
		s.put(at+16, uint64(of[i].To))
	}
	copy(s.mem[pathAt:flushAt], path)
	s.put(0, sumOf(s.mem, s.i, len(of), len(path)))
}

func (s *Slot) put(at int, v uint64) { binary.LittleEndian.PutUint64(s.mem[at:], v) }

// sumOf is that of a record. It is not 0.
func sumOf(mem []byte, slot, reaches, path int) uint64 {
	h := uint64(slot)*0x9e3779b97f4a7c15 + 0xcbf29ce484222325
	mix := func(from, to int) {
		for ; from < to; from += 8 {
			h = (h ^ binary.LittleEndian.Uint64(mem[from:])) * 0x100000001b3
			h ^= h >> 29
		}
	}
	mix(8, 16+reaches*24)
	for i := range path {
		h = (h ^ uint64(mem[pathAt+i])) * 0x100000001b3
	}
	if h == 0 {
		return 1
	}
	return h
}

// An Executing is what a worker was at.
type Executing struct {
	What  Doing
	Stage int
	Flush bool // what it was at is a flush, behind items or among them
	Of    []Reach
	Exact bool   // it is one item, of which Of has the inputs
	Path  string // of that
}

// ReadBlackBox returns what the workers of a process were at that is dead. Whatever is in mem, which it may be: records that are not
// whole are left out. Of workers that had no slot it knows nothing.
func ReadBlackBox(mem []byte) (all []Executing) {
	for i := 0; (i+1)*slotBytes <= len(mem); i++ {
		slot := mem[i*slotBytes : (i+1)*slotBytes]
		if e, ok := readSlot(slot, i); ok {
			all = append(all, e)
		}
	}
	return all
}

func readSlot(mem []byte, i int) (e Executing, ok bool) {
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(mem[at:]) }
	sum, head := word(0), word(8)
	reaches, path := int(head>>8&0xff), int(head>>16&0xff)
	if sum == 0 || reaches > MostReaches || path > mostPath || sumOf(mem, i, reaches, path) != sum {
		return e, false
	}
	e = Executing{
		What: Doing(head), Stage: int(head >> 32 & 0xffff), Flush: word(flushAt) != 0, Exact: head>>24&1 != 0,
		Path: string(mem[pathAt : pathAt+path]),
	}
	for k := range reaches {
		at := 16 + k*24
		r := Reach{int(word(at) >> 32), int(uint32(word(at))), int64(word(at + 8)), int64(word(at + 16))}
		if r.From < 0 || r.To <= r.From {
			return e, false
		}
		e.Of = append(e.Of, r)
	}
	return e, e.What > 0 && e.What < doingEnd && (!e.Exact || reaches == 1) && validPath(e.Path)
}

// validPath reports whether p is a path: "" or ".3.0".
func validPath(p string) bool {
	for i := range len(p) {
		dot := p[i] == '.'
		if !dot && (p[i] < '0' || p[i] > '9') || dot && (i+1 == len(p) || p[i+1] == '.') || i == 0 && !dot {
			return false
		}
	}
	return true
}
