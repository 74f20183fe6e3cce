package codecs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/codecs"
)

type size struct{ W, H int }

type height struct{ H, W int }

type node struct {
	Size size
	Next *node
	Kids []node
	Last size
}

type stamped struct {
	time.Time
	Camera int
}

type picture struct{ Pixels []byte }

func (*picture) Split() (head, block []byte, err error) { return nil, nil, nil }
func (*picture) Join(_, _ []byte) error                 { return nil }

func TestShape(t *testing.T) {
	for _, tt := range []struct {
		name  string
		typ   codecs.Type
		shape string
	}{
		{"scalars are their kinds", codecs.Of[time.Duration](), "int64"},
		{"fields have names, types have not", codecs.Of[size](), "{W int; H int}"},
		{"the order of fields counts", codecs.Of[height](), "{H int; W int}"},
		{"what was described before is referred to", codecs.Of[node](), "{Size {W int; H int}; Next *#0; Kids []#0; Last #1}"},
		{"lengths, keys and values", codecs.Of[map[string][3]*[]byte](), "map[string][3]*[]uint8"},
		{"what encodes itself is its name", codecs.Of[[]time.Time](), "[]time.Time"},
		{"a Bulk too", codecs.Of[*picture](), "*codecs_test.picture"},
		{"an embedded type's methods are not the struct's", codecs.Of[stamped](), "{Time time.Time; Camera int}"},
		{"interfaces are for other codecs", codecs.Of[struct{ V any }](), "{V interface {}}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.typ.Shape(); got != tt.shape {
				t.Errorf("got  %s\nwant %s", got, tt.shape)
			}
		})
	}
}

type (
	twice0 struct{ A, B size }
	twice1 struct{ A, B twice0 }
	twice2 struct{ A, B twice1 }
	twice3 struct{ A, B twice2 }
	twice4 struct{ A, B twice3 }
)

// A type is described once, or the shape of types that are used in many places would grow exponentially.
func TestShapeIsShort(t *testing.T) {
	if got := codecs.Of[twice4]().Shape(); strings.Count(got, "{") != 6 {
		t.Error(got)
	}
}
