package plan

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestABlackBoxTellsWhatWorkersAreAt(t *testing.T) {
	mem := make([]byte, BlackBoxBytes)
	b := NewBlackBox(mem)
	var ids IDs
	ids.Source(2, 1, 100, 50)
	ids.Source(3, 0, 7, 1)
	first, second, third, fourth := b.Take(), b.Take(), b.Take(), b.Take()
	first.Items(5, &ids, 10, 51)
	second.Item(6, Name{Reach{2, 1, 4, 9}, ".3.0"})
	third.Items(7, &ids, 0, 1)
	third.Flush(true)
	fourth.Note(DoesIterate, 2)
	all := ReadBlackBox(mem)
	want := []Executing{
		{What: DoesItems, Stage: 5, Of: []Reach{{2, 1, 110, 150}, {3, 0, 7, 8}}},
		{What: DoesItems, Stage: 6, Of: []Reach{{2, 1, 4, 9}}, Exact: true, Path: ".3.0"},
		{What: DoesItems, Stage: 7, Of: []Reach{{2, 1, 100, 101}}, Flush: true, Exact: true},
		{What: DoesIterate, Stage: 2},
	}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("%+v, want %+v", all, want)
	}
	first.Clear()
	second.Return()
	third.Items(7, &ids, 0, 1)
	if all := ReadBlackBox(mem); len(all) != 2 || all[0].Flush || all[1].What != DoesIterate {
		t.Errorf("%+v", all)
	}
	var none *BlackBox
	none.Take().Items(1, &ids, 0, 1) // where there is no box, nothing is noted
}

func TestABlackBoxKeepsWhatThereIsRoomFor(t *testing.T) {
	mem := make([]byte, BlackBoxBytes)
	b := NewBlackBox(mem)
	for range BlackBoxBytes / slotBytes {
		b.Take().Note(DoesOpen, 1)
	}
	if all := ReadBlackBox(mem); len(all) != 256 {
		t.Fatal(len(all))
	}
	if s := b.Take(); s != nil {
		t.Error("a slot too many")
	}
	ids := IDs{}
	for i := range 6 {
		ids.Source(i, 0, 0, 1)
	}
	b = NewBlackBox(mem)
	b.Take().Items(1, &ids, 0, 6)
	if all := ReadBlackBox(mem); len(all[0].Of) != MostReaches {
		t.Errorf("%+v", all[0])
	}
}

// What was being written when the process died, and what it has scribbled over, is no record.
func TestWhatIsTornInABlackBoxIsLeftOut(t *testing.T) {
	mem := make([]byte, BlackBoxBytes)
	s := NewBlackBox(mem).Take()
	s.Item(6, Name{Reach{2, 1, 4, 9}, ".3.0"})
	whole := append([]byte(nil), mem...)
	for bit := range 8 * (pathAt + 4) {
		if at := bit / 8; at >= 16+24 && at < pathAt { // of reaches that there are not
			continue
		}
		mem[bit/8] ^= 1 << (bit % 8)
		if all := ReadBlackBox(mem); len(all) != 0 {
			t.Fatalf("bit %d: %+v", bit, all)
		}
		mem[bit/8] ^= 1 << (bit % 8)
	}
	copy(mem[slotBytes:], mem[:slotBytes]) // in another's place
	if all := ReadBlackBox(mem); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		copy(mem, whole)
		for range 1 + dice.IntN(2000) {
			mem[dice.IntN(len(mem))] = byte(dice.Uint32())
		}
		for _, e := range ReadBlackBox(mem) {
			if !reflect.DeepEqual(e, Executing{What: DoesItems, Stage: 6, Of: []Reach{{2, 1, 4, 9}}, Exact: true, Path: ".3.0", Flush: e.Flush}) {
				t.Fatalf("%+v", e)
			}
		}
	}
	ReadBlackBox(nil)
	ReadBlackBox(mem[:slotBytes+1])
}

func TestANoteInABlackBoxIsNotAllocated(t *testing.T) {
	s := NewBlackBox(make([]byte, BlackBoxBytes)).Take()
	var ids IDs
	ids.Source(2, 1, 100, 512)
	if n := testing.AllocsPerRun(100, func() {
		s.Items(5, &ids, 10, 400)
		s.Clear()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkBlackBox(b *testing.B) {
	s := NewBlackBox(make([]byte, BlackBoxBytes)).Take()
	var ids IDs
	ids.Source(2, 1, 100, 512)
	for b.Loop() {
		s.Items(5, &ids, 10, 400)
		s.Clear()
	}
}

// What was made of items has their reach, through families, batches and forks; its name is the same in every life.
func TestReachesOfWhatWasMade(t *testing.T) {
	var tally Tally
	var ids, kids, batch, of IDs
	ids.Source(1, 2, 10, 20)
	c := ids.From(5)
	kids.Kids(&tally, c.Next(), 3)
	c = kids.From(1)
	batch.Range(&ids, 2, 4)
	batch.Range(&ids, 7, 9)
	of.Merged(&tally, &batch, c.Peek(), 1)
	split, n := NewSplit(ids.From(12), 15, nil, 0, 2)
	var forked IDs
	forked.Split(split, 0, n, 0)
	for _, c := range []struct {
		name string
		ids  *IDs
		i    int
		want Name
	}{
		{"an item", &ids, 3, Name{Reach{1, 2, 13, 14}, ""}},
		{"a child", &kids, 1, Name{Reach{1, 2, 15, 16}, ".1"}},
		{"a batch", &of, 0, Name{Reach{1, 2, 12, 19}, ""}},
		{"one of those that part", &forked, 1, Name{Reach{1, 2, 23, 24}, ""}},
	} {
		if got := c.ids.NameOf(c.i); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
