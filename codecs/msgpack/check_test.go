package msgpack

import (
	"bytes"
	"errors"
	"net/url"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/weirflow/weir/codecs"
)

type Config struct {
	Name   string
	Filter Filter
}

type Filter struct {
	Min   int
	Match func(string) bool
}

type Rules struct {
	Chain  []Filter
	ByName map[string]*Filter
	Tree   *Rules
}

type Chain []Filter

type guarded struct {
	N int
	//lint:ignore U1000 it is there to be refused
	mu sync.Mutex
}

type Stamped struct {
	time.Time
	Camera int
}

type StampedBadly struct {
	time.Time
	//lint:ignore U1000 it is there to be refused
	camera int
}

type base struct{ ID int }

type basePrivate struct {
	//lint:ignore U1000 it is there to be refused
	id int
}

type recursive struct {
	Next  *recursive
	Kids  []recursive
	Named map[string]recursive
}

type (
	ring    *ring
	nest    []nest
	mapping map[string]mapping
	onlyOut struct {
		//lint:ignore U1000 it is there to be refused
		n int
	}
	deep = [1][1][1][1][1][1][1][1]int
)

func (*onlyOut) MarshalBinary() ([]byte, error) { return nil, nil }

func TestCheckNamesThePath(t *testing.T) {
	for _, tt := range []struct {
		name string
		v    reflect.Type
		path string // what follows the sentinel; "" if the type is accepted
	}{
		{"a function in a struct in a struct", reflect.TypeFor[Config](), "Config.Filter.Match: func(string) bool"},
		{"behind a pointer", reflect.TypeFor[*Config](), "Config.Filter.Match: func(string) bool"},
		{"in a slice", reflect.TypeFor[[]Config](), "[]Config.Filter.Match: func(string) bool"},
		{"in a map", reflect.TypeFor[map[string][]Config](), "map[string][]Config.Filter.Match: func(string) bool"},
		{"in a slice in a struct", reflect.TypeFor[Rules](), "Rules.Chain[].Match: func(string) bool"},
		{"in a named slice", reflect.TypeFor[Chain](), "Chain[].Match: func(string) bool"},
		{"in an array of named slices", reflect.TypeFor[[2]Chain](), "[2]Chain[].Match: func(string) bool"},
		{"in a map in a struct", reflect.TypeFor[struct{ M map[string]chan int }](), "struct { M map[string]chan int }.M[]: chan int"},
		{"in a key", reflect.TypeFor[map[[2]any]int](), "map[[2]interface {}]int[key][]: interface {}"},
		{"any", reflect.TypeFor[struct{ V any }](), "struct { V interface {} }.V: interface {}"},
		{"an error", reflect.TypeFor[error](), "error: error"},
		{"any itself", reflect.TypeFor[any](), "interface {}: interface {}"},
		{"a channel", reflect.TypeFor[<-chan int](), "<-chan int: <-chan int"},
		{"unsafe.Pointer", reflect.TypeFor[unsafe.Pointer](), "Pointer: unsafe.Pointer"},
		{"uintptr", reflect.TypeFor[[]uintptr](), "[]uintptr: uintptr"},
		{"a mutex", reflect.TypeFor[guarded](), "guarded.mu: sync.Mutex, an unexported field"},
		{"an atomic", reflect.TypeFor[struct{ N atomic.Int64 }](), "struct { N atomic.Int64 }.N.v: int64, an unexported field"},
		{"a location", reflect.TypeFor[*time.Location](), "Location.name: string, an unexported field"},
		{"it encodes itself but does not decode", reflect.TypeFor[onlyOut](), "onlyOut.n: int, an unexported field"},
		{"methods of an embedded type", reflect.TypeFor[StampedBadly](),
			"StampedBadly.camera: int, an unexported field (methods that may come from the embedded Time do not count)"},
		{"an embedded private pointer", reflect.TypeFor[struct{ *base }](), "struct { *msgpack.base }.base: *msgpack.base, an unexported field"},
		{"an embedded struct with private fields", reflect.TypeFor[struct{ basePrivate }](),
			"struct { msgpack.basePrivate }.basePrivate.id: int, an unexported field"},
		{"an embedded private type that encodes itself", reflect.TypeFor[struct{ packed }](),
			"struct { msgpack.packed }.packed: msgpack.packed, an unexported field (methods that may come from the embedded packed do not count)"},
		{"an embedded interface", reflect.TypeFor[struct{ error }](), "struct { error }.error: error, an unexported field"},
		{"a pointer as a key", reflect.TypeFor[map[*int]int](), "map[*int]int[key]: *int as a map key: its identity does not travel"},
		{"a pointer in a key", reflect.TypeFor[map[struct{ P *int }]int](),
			"map[struct { P *int }]int[key].P: *int as a map key: its identity does not travel"},
		{"a time in a key", reflect.TypeFor[map[[1]time.Time]int](),
			"map[[1]time.Time]int[key][]: time.Time as a map key: equal instants need not be equal keys"},
		{"65 deep", reflect.TypeFor[[1]deep64](), "[1]deep64: nests deeper than 64"},
		{"64 deep", reflect.TypeFor[deep64](), ""},

		{"scalars", reflect.TypeFor[int](), ""},
		{"a map key that encodes itself", reflect.TypeFor[map[word]int](), ""},
		{"exported fields beside an embedded type with methods", reflect.TypeFor[Stamped](), ""},
		{"an embedded private struct with exported fields", reflect.TypeFor[struct{ base }](), ""},
		{"a field nobody can name", reflect.TypeFor[struct{ _ func() }](), ""},
		{"a field of no size", reflect.TypeFor[struct{ mark struct{} }](), ""},
		{"a type that contains itself", reflect.TypeFor[recursive](), ""},
		{"a pointer to itself", reflect.TypeFor[ring](), ""},
		{"a slice of itself", reflect.TypeFor[nest](), ""},
		{"a map of itself", reflect.TypeFor[mapping](), ""},
		{"a type of the library that encodes itself", reflect.TypeFor[url.URL](), ""},
		{"a Bulk", reflect.TypeFor[tensor](), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Codec
			for range 2 { // the second answer is the remembered one
				err := c.Check(tt.v)
				if tt.path == "" {
					if err != nil {
						t.Fatal(err)
					}
					continue
				}
				if want := codecs.ErrNotEncodable.Error() + ": " + tt.path; !errors.Is(err, codecs.ErrNotEncodable) || err.Error() != want {
					t.Fatalf("got  %v\nwant %s", err, want)
				}
			}
		})
	}
}

// deep64 is 64 arrays deep.
type (
	deep16 [1][1][1][1][1][1][1][1]deep
	deep32 [1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]deep16
	deep64 [1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]deep32
)

func TestWhatCheckRefusesIsRefusedThroughout(t *testing.T) {
	var c Codec
	out, err := c.Append([]byte("kept"), Config{})
	if !errors.Is(err, codecs.ErrNotEncodable) || !bytes.Equal(out, []byte("kept")) {
		t.Errorf("append: %q, %v", out, err)
	}
	if err := c.Decode([]byte{0x92, 0xa0, 0x92, 0, 0xc0}, new(Config)); !errors.Is(err, codecs.ErrNotEncodable) {
		t.Errorf("decode: %v", err)
	}
	if _, err := c.Append(nil, nil); !errors.Is(err, codecs.ErrNotEncodable) {
		t.Errorf("append of nil: %v", err)
	}
	if err := c.Check(nil); !errors.Is(err, codecs.ErrNotEncodable) {
		t.Errorf("check of nil: %v", err)
	}
	if err := c.Decode([]byte{1}, new(any)); !errors.Is(err, codecs.ErrNotEncodable) {
		t.Errorf("decode into any: %v", err)
	}
}
