package plan_test

import (
	"testing"

	"github.com/weirflow/weir/internal/plan"
)

func TestAChunkHasRoomForItsClass(t *testing.T) {
	pool := plan.NewPool[int]()
	for _, c := range []struct{ n, room int }{
		{0, 4}, {1, 4}, {4, 4}, {5, 32}, {32, 32}, {33, 256}, {256, 256}, {257, 1024}, {1024, 1024}, {5000, 1024},
	} {
		if got := pool.Get(c.n); got.Room() != c.room || got.Len() != 0 {
			t.Errorf("Get(%d) has %d items and room for %d, want 0 and %d", c.n, got.Len(), got.Room(), c.room)
		}
	}
}

func TestRoomIsWhatNeedsNoNewArray(t *testing.T) {
	c := plan.NewPool[int]().Of(4)
	first := &c.Items[:1][0]
	for want := c.Room(); want > 0; want-- {
		if c.Room() != want {
			t.Fatalf("room for %d, want %d", c.Room(), want)
		}
		c.Items = append(c.Items, 1)
	}
	if c.Room() != 0 || &c.Items[0] != first || c.Len() != 4 {
		t.Errorf("room for %d behind %d items", c.Room(), c.Len())
	}
}

func TestAppendCopiesItemsAndIdentities(t *testing.T) {
	pool := plan.NewPool[string]()
	a, b := pool.Of(4), pool.Of(4)
	a.Items = append(a.Items, "a", "b", "c", "d")
	a.Head().IDs.Source(3, 1, 7, 4)
	b.Items = append(b.Items, "z")
	b.Head().IDs.Source(3, 1, 0, 1)
	b.Append(a, 1, 3)
	a.Items[1] = "changed"
	if b.Len() != 3 || b.Items[1] != "b" || b.Items[2] != "c" {
		t.Errorf("items %q", b.Items)
	}
	for i, want := range []int64{0, 8, 9} {
		if id := b.Head().IDs.At(i); id != (plan.ID{Source: 3, Epoch: 1, Index: want}) {
			t.Errorf("identity %d is %+v", i, id)
		}
	}
}

func TestAFreedChunkHoldsNothing(t *testing.T) {
	c := plan.NewPool[*int]().Of(4)
	for i := range 4 {
		c.Items = append(c.Items, &i)
	}
	c.Head().IDs.Source(0, 2, 0, 4)
	c.Head().Epoch, c.Head().Last = 2, true
	items := c.Items
	c.Free()
	for i, p := range items {
		if p != nil {
			t.Errorf("item %d is still referred to", i)
		}
	}
	h := c.Head()
	if c.Len() != 0 || c.Room() != 4 || h.IDs.Len() != 0 || h.Epoch != 0 || h.Last {
		t.Errorf("%d items, room for %d, head %+v", c.Len(), c.Room(), h)
	}
}

func TestAHugeChunkIsLeftToTheCollector(t *testing.T) {
	pool := plan.NewPool[int]()
	for range 20 {
		c := pool.Of(4)
		if c.Room() > 4096 {
			t.Fatalf("the pool keeps a chunk with room for %d", c.Room())
		}
		c.Items = append(c.Items, make([]int, 5000)...)
		c.Free()
	}
}

func TestPlacesAreItemsAndTheEndOfAnEpoch(t *testing.T) {
	c := plan.NewPool[int]().Of(4)
	c.Items = append(c.Items, 1, 2, 3)
	if got := plan.Places(c); got != 3 {
		t.Errorf("%d places, want 3", got)
	}
	c.Head().Last = true
	if got := plan.Places(c); got != 4 {
		t.Errorf("%d places, want 4", got)
	}
	c.Items = c.Items[:0]
	if got := plan.Places(c); got != 1 {
		t.Errorf("%d places, want 1", got)
	}
}

type (
	blob  []byte
	label string
	image struct{ pixels []byte }
)

func bytesOf[T any](items ...T) int64 {
	c := plan.NewPool[T]().Of(len(items))
	c.Items = append(c.Items, items...)
	return c.Bytes()
}

func TestSizesAreKnownOfSlicesOfNumbersAndStrings(t *testing.T) {
	for name, c := range map[string]struct{ got, want int64 }{
		"bytes":             {bytesOf([]byte{1, 2, 3}, nil, []byte{}, make([]byte, 10, 100)), 13},
		"named bytes":       {bytesOf(make(blob, 7)), 7},
		"strings":           {bytesOf("", "abc", "ü"), 5},
		"named strings":     {bytesOf(label("abcd")), 4},
		"float32":           {bytesOf(make([]float32, 5), make([]float32, 1)), 24},
		"complex128":        {bytesOf(make([]complex128, 2)), 32},
		"bools":             {bytesOf(make([]bool, 9)), 9},
		"ints are small":    {bytesOf(1, 2, 3), 0},
		"structs":           {bytesOf(image{make([]byte, 100)}), 0},
		"pointers":          {bytesOf(&image{}), 0},
		"slices of slices":  {bytesOf([][]byte{make([]byte, 100)}), 0},
		"slices of strings": {bytesOf([]string{"abc"}), 0},
		"interfaces":        {bytesOf[any]([]byte{1}), 0},
		"arrays":            {bytesOf([4]byte{}), 0},
		"nothing":           {bytesOf[[]byte](), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, c.got, c.want)
		}
	}
	if plan.SizeOf[[][]byte]() != nil || plan.SizeOf[image]() != nil {
		t.Error("a size that needs a walk is said to be known")
	}
	if plan.SizeOf[blob]() == nil || plan.SizeOf[label]() == nil {
		t.Error("the size of a named type is not known")
	}
}
