package stages

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

type inner struct{ A, B int }

type long struct {
	A000000000, A000000001, A000000002, A000000003, A000000004, A000000005, A000000006, A000000007, A000000008, A000000009 [3]map[string]*[]byte
	B000000000, B000000001, B000000002, B000000003, B000000004, B000000005, B000000006, B000000007, B000000008, B000000009 [3]map[string]*[]byte
}

type longer struct {
	long
	C int
}

func shapeOf[T any]() string { return letterShape(reflect.TypeFor[T]()) }

func TestALetterSaysWhatOfItsTypeHasChanged(t *testing.T) {
	for _, c := range []struct{ name, was, is, want string }{
		{"nothing", shapeOf[inner](), shapeOf[inner](), ""},
		{"the name of a type", shapeOf[struct{ S inner }](), shapeOf[struct{ S struct{ A, B int } }](), ""},
		{"a letter without a shape", "", shapeOf[inner](), ""},
		{"the order", shapeOf[struct {
			Path, Text string
			N          int
		}](), shapeOf[struct {
			Text, Path string
			N          int
		}](), `field 1 was "Path string", and is "Text string"`},
		{"a field's name", shapeOf[inner](), shapeOf[struct{ A, C int }](), `field 2 was "B int", and is "C int"`},
		{"a field's kind", shapeOf[inner](), shapeOf[struct {
			A int
			B int64
		}](), `B was "int", and is "int64"`},
		{"a field more", shapeOf[inner](), shapeOf[struct{ A, B, C int }](), `field 3, "C int", is new`},
		{"a field less", shapeOf[inner](), shapeOf[struct{ A int }](), `field 2, "B int", is gone`},
		{"the first field", shapeOf[struct{}](), shapeOf[struct{ A int }](), `field 1, "A int", is new`},
		{"deep inside", shapeOf[struct{ X struct{ Y []inner } }](), shapeOf[struct{ X struct{ Y []struct{ A int } } }](), `field 2 of X.Y, "B int", is gone`},
		{"the values of a map", shapeOf[map[string]inner](), shapeOf[map[string]struct{ A int }](), `field 2, "B int", is gone`},
		{"the keys of a map", shapeOf[struct{ M map[inner]int }](), shapeOf[struct{ M map[struct{ B, A int }]int }](), `M was "… A int; B int}]int", and is "… B int; A int}]int"`},
		{"a slice of it", shapeOf[inner](), shapeOf[[]inner](), `it was "{A int; B int}", and is "[]{A int; B int}"`},
		{"no struct", shapeOf[int](), shapeOf[string](), `it was "int", and is "string"`},
		{"a long one", shapeOf[long](), shapeOf[longer](), `it was "… A000000000 [3]map[string]*[]uint8; `},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := reshaped(c.was, c.is)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) || len(got) > 400 {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What a letter says of a large type is short, and tells it from others that begin in the same way.
func TestTheShapeOfALetterIsShort(t *testing.T) {
	type ö struct{ Ö0, Ö1, Ö2, Ö3, Ö4, Ö5, Ö6, Ö7, Ö8, Ö9 long }
	type another struct {
		long
		D int
	}
	shapes := map[string]bool{}
	for _, shape := range []string{shapeOf[long](), shapeOf[longer](), shapeOf[another](), shapeOf[ö]()} {
		if len(shape) > longestShape+40 || !utf8.ValidString(shape) || !strings.Contains(shape, "A000000009 [3]map[string]*[]uint8; B00") || shapes[shape] {
			t.Errorf("got %d bytes: %s", len(shape), shape)
		}
		shapes[shape] = true
	}
	for shape := range shapes {
		for other := range shapes {
			if got := reshaped(shape, other); (got == "") != (shape == other) {
				t.Errorf("%s\n%s\ndiffer: %q", shape, other, got)
			}
		}
	}
}
