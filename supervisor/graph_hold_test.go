package supervisor_test

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/weirflow/weir/stages"
)

// What the aggregators of random graphs do: one of the user's, one per key, and batches by size, in the generator, as they
// are built, and in the reference.

// A habit is how a vertex holds items back.
type habit struct {
	keys, groups uint64
	maxHeld      int
	lets         uint64 // one item of so many has what was held let go of, in silence; 0: none
	turns        uint64 // one item of so many has what was held leave, and stays; 0: none
	keep         int    // of a full group so many items stay, as in a sliding window
}

// holds reports whether v is one of those.
func (v *vertex) holds() bool {
	switch v.kind {
	case "aggregate", "bykey", "regroup", "bysize", "resize":
		return true
	}
	return false
}

// apart reports whether what v has held together leaves it one by one.
func (v *vertex) apart() bool {
	return v.kind == "rebatch" || v.kind == "regroup" || v.kind == "resize"
}

// holding gives a vertex that holds items its habits.
func holding(r *rand.Rand, v vertex) vertex {
	v.workers, v.order, v.timeout = 1, 0, false
	v.size = 2 + r.IntN(8)
	v.last = stages.Last(r.IntN(4) / 3)
	v.habit = habit{keys: 1 + r.Uint64N(9), groups: 1 + r.Uint64N(6), maxHeld: 1 + r.IntN(30)}
	if r.IntN(2) == 0 {
		v.maxHeld = 1024
	}
	if r.IntN(3) == 0 {
		v.turns = 3 + r.Uint64N(10)
	}
	if r.IntN(3) == 0 && !v.apart() {
		v.lets = 3 + r.Uint64N(10)
	}
	if r.IntN(3) == 0 && !v.apart() {
		v.keep = 1 + r.IntN(v.size-1)
	}
	return v
}

func (v *vertex) key(p parcel) uint64 { return hash(v.salt+9, p) % v.keys }

// weight is the size of an item; some are larger than a batch may be.
func (v *vertex) weight(p parcel) int { return int(hash(v.salt+10, p) % uint64(v.size+3)) }

// fold says what an aggregator that holds so many items does with another one: so many of all of them, the first ones,
// leave together, and so many, the last ones, are held from then on. Of those that are held, only the first one can be
// one that lets others go, so that another aggregator which is given them ends up with the same.
func (v *vertex) fold(held int, p parcel) (out, keep int) {
	switch {
	case oneOf(v.lets, v.salt+11, p):
		return 0, 1
	case held > 0 && oneOf(v.turns, v.salt+12, p):
		return held, 1
	case held+1 >= v.size:
		return held + 1, v.keep
	}
	return 0, held + 1
}

// hold builds a vertex that holds items.
func (s *site) hold(in stages.Stream[parcel]) stages.Stream[parcel] {
	opts := append(s.serial(), stages.MaxHeld(s.maxHeld))
	switch s.kind {
	case "aggregate":
		return stages.Aggregate(in, s.name, func(context.Context) (*bin, error) { return &bin{site: s}, nil }, opts...)
	case "bykey", "regroup":
		return stages.AggregateByKey(in, s.name, func(p parcel) uint64 {
			s.stumble(0, p)
			return s.key(p)
		}, func(_ context.Context, key uint64) (*bin, error) {
			s.stumble(1, parcel{{Way: key}})
			return &bin{site: s}, nil
		}, append(opts, stages.Groups(int(s.groups)))...)
	}
	batches := stages.BatchBySize(in, s.name, s.size, func(p parcel) int {
		defer s.enter()()
		if s.hurt(p, true) != nil {
			return -1
		}
		return s.weight(p)
	}, opts...)
	if s.apart() {
		return stages.Unbatch(batches, s.name+" undone")
	}
	return s.joined(batches)
}

// joined makes an item of each batch.
func (s *site) joined(in stages.Stream[[]parcel]) stages.Stream[parcel] {
	return stages.Map(in, s.name+" joined", func(_ context.Context, batch []parcel) (parcel, error) {
		return slices.Concat(batch...), nil
	})
}

// stumble dies now and then, in places that are no item's function, but once for an item, and not three times.
func (s *site) stumble(place uint64, p parcel) {
	if !oneOf(s.dies, s.salt+13+place, p) {
		return
	}
	if _, again := s.seen.LoadOrStore(hash(1, p), true); !again && s.dying.Add(1) <= 2 {
		s.die()
	}
}

// A bin is an aggregator.
type bin struct {
	*site
	held []parcel
	last parcel // that it had to do with
}

func (b *bin) Process(ctx context.Context, p parcel, emit func(parcel) bool) error {
	defer b.enter()()
	b.last = p
	if err := b.suffer(ctx, p); err != nil {
		emit(p) // is withdrawn
		return err
	}
	out, keep := b.fold(len(b.held), p)
	all := append(slices.Clone(b.held), p)
	b.emit(all[:out], emit)
	b.held = all[len(all)-keep:]
	b.stumble(2, p)
	return nil
}

func (b *bin) emit(all []parcel, emit func(parcel) bool) {
	switch {
	case len(all) == 0:
	case b.apart():
		for _, p := range all {
			emit(p)
		}
	default:
		emit(slices.Concat(all...))
	}
}

func (b *bin) Held() int { return len(b.held) }

func (b *bin) Flush(_ context.Context, emit func(parcel) bool) error {
	defer b.enter()()
	b.emit(b.held, emit)
	b.stumble(3, b.last)
	b.held = nil
	return nil
}

func (b *bin) Close() error {
	if b.last != nil {
		b.stumble(4, b.last)
	}
	return nil
}

// A holder is a vertex that holds items, in the reference.
type holder struct {
	*worksheet
	*vertex
	i      int
	out    []*thing
	groups []*heap // that with the oldest item first
	held   int
	number int
}

// A heap is what is held in a group.
type heap struct {
	key     uint64
	things  []*thing
	numbers []int
}

func (w *worksheet) hold(i int, in []*thing) []*thing {
	h := &holder{worksheet: w, vertex: &w.vertices[i], i: i}
	for _, th := range in {
		if h.number++; h.kind == "bysize" || h.kind == "resize" {
			h.bySize(th)
		} else {
			h.item(th)
		}
	}
	for len(h.groups) > 0 {
		h.flush(nil)
	}
	return h.out
}

// emit has things leave during the item at, or at the end of the epoch; gone are those that are held no more.
func (h *holder) emit(things, gone []*thing, at *thing) {
	end := at == nil
	if end {
		at = things[len(things)-1]
	}
	var all parcel
	for _, th := range things {
		all = append(all, th.parcel...)
	}
	whole := madeAt(all, gone, at)
	if end {
		whole = whole.late()
	}
	if !h.apart() {
		h.out = append(h.out, whole)
		return
	}
	for _, th := range things {
		h.out = append(h.out, whole.with(th.parcel))
	}
}

// flush has the first group leave.
func (h *holder) flush(at *thing) {
	g := h.groups[0]
	if at != nil || h.last != stages.DropLast {
		h.emit(g.things, g.things, at)
	}
	h.leave(g, len(g.things))
}

// leave takes the first n items out of a group.
func (h *holder) leave(g *heap, n int) {
	g.things, g.numbers = g.things[n:], g.numbers[n:]
	h.held -= n
	h.groups = slices.DeleteFunc(h.groups, func(g *heap) bool { return len(g.things) == 0 })
	slices.SortFunc(h.groups, func(a, b *heap) int { return a.numbers[0] - b.numbers[0] })
}

func (h *holder) add(g *heap, th *thing) {
	g.things, g.numbers = append(g.things, th), append(g.numbers, h.number)
	h.held++
}

// group returns that of a key, which a new one must make room for.
func (h *holder) group(key uint64, at *thing) *heap {
	i := slices.IndexFunc(h.groups, func(g *heap) bool { return g.key == key })
	if i >= 0 {
		return h.groups[i]
	}
	if h.kind != "aggregate" && len(h.groups) >= int(h.vertex.groups) {
		h.flush(at)
	}
	return &heap{key: key}
}

func (h *holder) item(th *thing) {
	key := uint64(0)
	if h.kind != "aggregate" {
		key = h.key(th.parcel)
	}
	g := h.group(key, th)
	if h.worksheet.fails(h.i, th) {
		return
	}
	out, keep := h.fold(len(g.things), th.parcel)
	if h.add(g, th); len(g.things) == 1 {
		h.groups = append(h.groups, g)
	}
	gone := len(g.things) - keep
	if out > 0 {
		h.emit(g.things[:out], g.things[:gone], th)
	}
	h.leave(g, gone)
	if h.held >= h.maxHeld {
		h.flush(th)
	}
}

// bySize is item for batches by size.
func (h *holder) bySize(th *thing) {
	if h.worksheet.fails(h.i, th) {
		return
	}
	g := &heap{}
	if len(h.groups) > 0 {
		g = h.groups[0]
	}
	sum, n := 0, h.weight(th.parcel)
	for _, o := range g.things {
		sum += h.weight(o.parcel)
	}
	if n > h.size-sum && len(g.things) > 0 {
		if n >= h.size && h.hooked > 0 { // both leave during one attempt, and are made of one another
			all := append(slices.Clone(g.things), th)
			h.emit(g.things, all, th)
			h.emit(all[len(all)-1:], all, th)
			h.leave(g, len(g.things))
			return
		}
		h.emit(g.things, g.things, th)
		h.leave(g, len(g.things))
		g, sum = &heap{}, 0
	}
	if h.add(g, th); len(g.things) == 1 {
		h.groups = append(h.groups, g)
	}
	if sum+n >= h.size || h.held >= h.maxHeld {
		h.flush(th)
	}
}

// madeAt returns what things have become together during the item at, where it stands.
func madeAt(p parcel, things []*thing, at *thing) *thing {
	o := made(p, things)
	o.place, o.share = at.place, at.share
	o.lost = o.lost || at.lost
	return o
}
