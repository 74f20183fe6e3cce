package plan

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// chain is a graph of stages in a row, the first of which is a source.
func chain(stages ...Stage) *Graph {
	g := &Graph{Name: "chain"}
	for i := range stages {
		s := &stages[i]
		s.Index, s.Outs = i, max(s.Outs, 1)
		s.Name = fmt.Sprint("s", i)
		if s.Item == nil {
			s.Item = reflect.TypeFor[int64]()
		}
		if i == 0 {
			s.Feed = func() Feed { return nil }
		} else {
			s.In = []Port{{Stage: i - 1}}
		}
		g.Stages = append(g.Stages, s)
	}
	g.Outlet.Stage = len(stages) - 1
	return g
}

func TestBoundsAreAddedUp(t *testing.T) {
	one := Stage{Mailbox: 1, MaxOutputs: 1}
	flow := Stage{Mailbox: 1, MaxOutputs: 1, Buffer: Flow}
	large := Stage{Mailbox: 1 << 30, MaxOutputs: 1 << 30, Holds: true, MaxHeld: 1 << 30}
	text := reflect.TypeFor[string]()
	for name, c := range map[string]struct {
		g                     *Graph
		items, sourced, bytes int64
		limited, measured     bool
	}{
		"no waiting room":  {chain(Stage{}, one, one, one), 1 + 3 + 9, 13, 8 + 3*16 + 9*8, true, true},
		"default":          {chain(Stage{Buffer: Flow}, flow, flow, flow), 1024 + 4*1025, 1024 + 4*1025, 8 * (1024 + 7*1025), true, true},
		"a ring of 4 of 5": {chain(Stage{Buffer: 4}, one), 5 + 1 + 9, 15, 8 * (8 + 2 + 9), true, true},
		"a large buffer":   {chain(Stage{}, Stage{Mailbox: 2, MaxOutputs: 1, Buffer: 5000}), 1 + 5002 + 1025, 6028, 8 * (1 + 2*5002 + 1025), true, true},
		"strings":          {chain(Stage{Item: text}, one, one), 12, 12, 16 + 72, true, false},
		"several outputs":  {chain(Stage{}, Stage{Mailbox: 2, MaxOutputs: 10}), 1 + 2 + 20 + 9, 12, 8 * 32, true, true},
		"any number":       {chain(Stage{}, Stage{Mailbox: 2, MaxOutputs: -1}), 1 + 2 + 9, 12, 8 + 72, false, false},
		"streaming":        {chain(Stage{}, Stage{Mailbox: 1, MaxOutputs: 1024, Streaming: true}), 1 + 1 + 2048 + 9, 11, 8 * 2059, true, true},
		"batches": {chain(Stage{}, Stage{Mailbox: 1, MaxOutputs: 1, Holds: true, MaxHeld: 32, Item: reflect.TypeFor[[]int]()}, one),
			1 + 33 + 1 + 9, 1 + 33 + 32 + 9*32, 8 + 72, true, false},
		"too many to count": {chain(Stage{}, large, large), 1 + 4<<30 + 4<<60 + 9, Countless, Countless, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.g.Bounds()
			if b.Items != c.items || b.Sourced != c.sourced || b.Bytes != c.bytes || b.Limited != c.limited || b.Measured != c.measured {
				t.Errorf("got %+v\nwant %+v", b, c)
			}
		})
	}
}

// What goes several ways counts in each of them, and what is joined there.
func TestBoundsOfBranches(t *testing.T) {
	g := chain(Stage{}, Stage{Mailbox: 1, MaxOutputs: 2, Outs: 2}, Stage{Mailbox: 3, MaxOutputs: 1}, Stage{Mailbox: 1, Mix: &Mix{}})
	g.Stages[3].In = append(g.Stages[3].In, Port{1, 1})
	b := g.Bounds()
	var held []int64
	for _, h := range b.Stages {
		held = append(held, h.Items, h.Results)
	}
	if want := []int64{1, 0, 1, 2, 3, 0, 2 * 9, 0}; !slices.Equal(held, want) || b.Items != 34 || b.Sourced != 32 {
		t.Errorf("got %v, %+v, want %v", held, b, want)
	}
	sink := chain(Stage{}, Stage{Mailbox: 4, Buffer: 2})
	sink.Stages[1].Outs, sink.Outlet.Stage = 0, 0
	if b := sink.Bounds(); b.Stages[1] != (Held{Items: 6, Weight: 1, Bytes: 48}) {
		t.Errorf("a sink: %+v", b.Stages[1])
	}
}

// What has no Buffer has no more room than what is before it needs.
func TestRoomsBehindASmallBufferAreSmall(t *testing.T) {
	g := chain(Stage{Buffer: Flow}, Stage{Mailbox: 1, Buffer: 20, MaxOutputs: 1}, Stage{Mailbox: 2, Buffer: Flow, MaxRoom: 20, MaxOutputs: 2, Outs: 2},
		Stage{Mailbox: 1, Buffer: 3, MaxOutputs: 1}, Stage{Mailbox: 1, Buffer: Flow, MaxRoom: 20, Mix: &Mix{}})
	join := g.Stages[4]
	join.In = append(join.In, Port{2, 1})
	if n := g.Stages[2].Window().Most(); n != 22 {
		t.Errorf("the tee holds %d", n)
	}
	if a, b := g.InputWindow(join, 0).Most(), g.InputWindow(join, 1).Most(); a != 9 || b != 21 {
		t.Errorf("the join holds %d and %d", a, b)
	}
	if n := g.OutletWindow().Most(); n != 21 {
		t.Errorf("the outlet holds %d", n)
	}
}

func TestRingsOfWideItemsAreSmall(t *testing.T) {
	for _, c := range []struct {
		item         reflect.Type
		buffer, size int
	}{
		{reflect.TypeFor[struct{}](), Flow, 1024}, {reflect.TypeFor[int64](), Flow, 1024}, {reflect.TypeFor[[128]byte](), Flow, 512},
		{reflect.TypeFor[[1 << 20]byte](), Flow, 16}, {reflect.TypeFor[[1 << 20]byte](), 20, 32}, {reflect.TypeFor[int](), 0, 1}, {reflect.TypeFor[int](), 4, 8},
	} {
		s := &Stage{Item: c.item, Buffer: c.buffer}
		ring := c.size
		if c.buffer != Flow {
			ring = c.buffer + 1
		}
		if s.RingSize() != c.size || s.Ring() != ring {
			t.Errorf("%v, buffer %d: %d of %d, want %d of %d", c.item, c.buffer, s.Ring(), s.RingSize(), ring, c.size)
		}
	}
}

func TestWhatCanBeWeighedIsKnown(t *testing.T) {
	for _, c := range []struct {
		t    reflect.Type
		size bool
	}{
		{reflect.TypeFor[string](), SizeOf[string]() != nil}, {reflect.TypeFor[[]byte](), SizeOf[[]byte]() != nil}, {reflect.TypeFor[[]complex128](), SizeOf[[]complex128]() != nil},
		{reflect.TypeFor[[]string](), SizeOf[[]string]() != nil}, {reflect.TypeFor[int](), SizeOf[int]() != nil}, {reflect.TypeFor[[]any](), SizeOf[[]any]() != nil},
	} {
		if Weighable(c.t) != c.size {
			t.Errorf("%v: %v, want %v", c.t, Weighable(c.t), c.size)
		}
	}
}
