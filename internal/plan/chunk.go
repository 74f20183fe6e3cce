package plan

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/wire"
)

// A Chunk is a typed run of items with their identities: the unit of a message. The runtime moves chunks through this
// interface and never looks inside. All items of a chunk are of one epoch. A chunk has one owner at a time; whoever
// holds it last frees it.
type Chunk interface {
	Len() int
	Room() int // items that can be appended without a new array
	Head() *Head
	Append(src Chunk, from, to int) // copies items and identities; src is of the same type
	Copy(src Chunk, from, to int)   // copies items only
	// Gather copies items, without their identities: of the chunks in from, each from its place in at on, in the order in
	// which order names them. It moves the places.
	Gather(from []Chunk, at []int, order []int)
	Forget(i int)                                             // lets go of what item i refers to; its place and its identity stay
	Bytes() int64                                             // of all items, where their size is known; otherwise 0
	Encode(c codecs.Codec, dst []byte, i int) ([]byte, error) // appends item i; it may run user code
	// Decode appends the item that src is the encoding of, without an identity. It may run user code, of which a panic is an
	// error. With an error nothing is appended.
	Decode(c codecs.Codec, src []byte) error
	// Pack and Unpack are Encode and Decode for a link between processes, which may share memory. A panic of user code is an
	// error. Pack leaves the item as it is; after an error of Unpack nothing is appended.
	Pack(p *payload.Packer, i int) (wire.Payload, error)
	Unpack(u *payload.Unpacker, in wire.Payload) error
	// Lent returns the block that item i has in shared memory, to be released when no user code is given it any more; the zero Ref if it
	// has none.
	Lent(i int) payload.Ref
	Free() // back to the pool it came from
}

// A Head is what the runtime knows of a chunk.
type Head struct {
	IDs   IDs
	Epoch int
	Last  bool  // the epoch ends behind these items; there may be none
	Round Round // what ends behind these items, before the epoch does; the zero Round is none
	In    int   // which input of its receiver it comes by
}

// Marked reports whether something is said behind the items.
func (h *Head) Marked() bool { return h.Last || h.Round.Fork != 0 }

// Places is the credit that a chunk takes up: a place per item, one for the end of an epoch, and one for that of a
// round.
func Places(c Chunk) int {
	h, n := c.Head(), c.Len()
	if h.Last {
		n++
	}
	if h.Round.Fork != 0 {
		n++
	}
	return n
}

// A Pool hands out chunks of one element type.
type Pool interface {
	Get(n int) Chunk
	// Blocks reports whether items, whatever their size, may have parts that go through shared memory.
	Blocks() bool
}

// Of is the only Chunk: a slice of T.
type Of[T any] struct {
	Items []T
	head  Head
	home  *sync.Pool
	size  func(*T) int64
	form  *payload.Form[T]
	flat  bool // T has no pointers
	class int  // places it was made with
}

// Len returns the number of items.
func (c *Of[T]) Len() int { return len(c.Items) }

// Room returns how many items can be appended without a new array.
func (c *Of[T]) Room() int { return cap(c.Items) - len(c.Items) }

// Head returns what the runtime knows of the chunk.
func (c *Of[T]) Head() *Head { return &c.head }

// Append copies items [from, to) of src, which is an *Of[T].
func (c *Of[T]) Append(src Chunk, from, to int) {
	s := src.(*Of[T])
	c.Items = append(c.Items, s.Items[from:to]...)
	c.head.IDs.Range(&s.head.IDs, from, to)
}

// Copy copies items [from, to) of src, which is an *Of[T], without their identities.
func (c *Of[T]) Copy(src Chunk, from, to int) {
	c.Items = append(c.Items, src.(*Of[T]).Items[from:to]...)
}

// Gather copies items of several chunks in turn.
//
// HOT PATH: it runs for every item of a merge that mixes item by item.
func (c *Of[T]) Gather(from []Chunk, at []int, order []int) {
	var few [16][]T
	items := few[:0]
	for _, f := range from {
		var s []T
		if f != nil {
			s = f.(*Of[T]).Items
		}
		items = append(items, s)
	}
	for _, i := range order {
		c.Items = append(c.Items, items[i][at[i]])
		at[i]++
	}
}

// Forget lets go of what item i refers to.
func (c *Of[T]) Forget(i int) {
	if !c.flat {
		var zero T
		c.Items[i] = zero
	}
}

// Encode appends the encoding of item i to dst.
func (c *Of[T]) Encode(codec codecs.Codec, dst []byte, i int) ([]byte, error) {
	return codec.Append(dst, c.Items[i])
}

// Bytes returns the size of all items, or 0 if the type has no known size.
func (c *Of[T]) Bytes() (n int64) {
	if c.size == nil {
		return 0
	}
	for i := range c.Items {
		n += c.size(&c.Items[i])
	}
	return n
}

// IgnoreDeadLetterLogging keeps the actor library from telling of a chunk that was on its way when its run was stopped.
func (c *Of[T]) IgnoreDeadLetterLogging() {}

// Free gives the chunk back to its pool. The owner must not touch it afterwards.
func (c *Of[T]) Free() {
	if !c.flat {
		clear(c.Items) // drop references
	}
	c.Items = c.Items[:0]
	c.head.IDs.Reset()
	c.head.Epoch, c.head.Last, c.head.Round, c.head.In = 0, false, Round{}, 0
	if cap(c.Items) <= 4*c.class { // one that an input with many outputs has made grow is left to the collector
		c.home.Put(c)
	}
}

// PoolOf is a Pool in four sizes, so that a stage of large, slow items never pays for 1024 places.
type PoolOf[T any] struct {
	class [len(classes)]sync.Pool
	size  func(*T) int64
	form  *payload.Form[T]
	flat  bool
}

var classes = [...]int{4, 32, 256, 1024}

// NewPool returns a pool of chunks of T.
func NewPool[T any]() *PoolOf[T] {
	return &PoolOf[T]{size: SizeOf[T](), form: payload.For[T](), flat: Flat(reflect.TypeFor[T]())}
}

// Get returns an empty chunk with room for n items, or 1024 if n is more.
func (p *PoolOf[T]) Get(n int) Chunk { return p.Of(n) }

// Blocks reports whether the items may have blocks.
func (p *PoolOf[T]) Blocks() bool { return p.form.Blocks() }

// Of is Get, typed.
func (p *PoolOf[T]) Of(n int) *Of[T] {
	k := 0
	for k < len(classes)-1 && n > classes[k] {
		k++
	}
	if c, _ := p.class[k].Get().(*Of[T]); c != nil {
		return c
	}
	return &Of[T]{Items: make([]T, 0, classes[k]), home: &p.class[k], size: p.size, form: p.form, flat: p.flat, class: classes[k]}
}

// SizeOf returns a function that tells the bytes behind a value: for byte slices, strings, slices of numbers and views. For all
// other types it returns nil: their size is not known without a walk.
//
// It reads the length out of the header, because a type switch would have to box every value.
func SizeOf[T any]() func(*T) int64 {
	t := reflect.TypeFor[T]()
	switch {
	case !Weighable(t):
		return nil
	case payload.IsView(t):
		return func(v *T) int64 { return int64((*payload.Ref)(unsafe.Pointer(v)).Len()) }
	case t.Kind() == reflect.String:
		return func(v *T) int64 { return int64(len(*(*string)(unsafe.Pointer(v)))) }
	}
	width := int64(t.Elem().Size())
	return func(v *T) int64 { return width * int64(len(*(*[]struct{})(unsafe.Pointer(v)))) }
}

// Weighable reports whether SizeOf tells the bytes behind values of t.
func Weighable(t reflect.Type) bool {
	if t.Kind() == reflect.Slice {
		k := t.Elem().Kind()
		return k >= reflect.Bool && k <= reflect.Complex128
	}
	return t.Kind() == reflect.String || payload.IsView(t)
}

// Flat reports whether values of t hold no pointers, so that they need not be cleared to let go of what they refer to.
func Flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() == 0 || Flat(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !Flat(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128
}
