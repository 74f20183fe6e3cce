package raw_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/codectest"
	"github.com/weirflow/weir/codecs/raw"
)

type (
	jpeg  []byte
	line  string
	octet byte
)

func samples() []any {
	return []any{
		[]byte(nil), []byte{}, []byte("\x00\xff"), "", "a\xff", jpeg("\xff\xd8"), line("a line"), []octet{1, 2}, strings.Repeat("x", 1<<16),
	}
}

func TestCodec(t *testing.T) { codectest.Run(t, raw.Codec{}, samples()...) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, raw.Codec{}, samples()...) }

func TestOtherTypesAreRefused(t *testing.T) {
	var c raw.Codec
	for _, v := range []any{nil, 1, [2]byte{}, []int{}, []string{}, struct{ B []byte }{}, new(string), map[string]string{}} {
		t.Run(fmt.Sprintf("%T", v), func(t *testing.T) {
			if err := c.Check(reflect.TypeOf(v)); !errors.Is(err, codecs.ErrNotEncodable) {
				t.Errorf("check: %v", err)
			}
			out, err := c.Append([]byte("kept"), v)
			if !errors.Is(err, codecs.ErrNotEncodable) || string(out) != "kept" {
				t.Errorf("append: %q, %v", out, err)
			}
			if v == nil {
				return
			}
			if err := c.Decode(nil, reflect.New(reflect.TypeOf(v)).Interface()); !errors.Is(err, codecs.ErrNotEncodable) {
				t.Errorf("decode: %v", err)
			}
		})
	}
}

func TestDecodeWantsAPointer(t *testing.T) {
	for _, into := range []any{nil, "", []byte{}, (*string)(nil), (*[]byte)(nil), (*line)(nil)} {
		if err := (raw.Codec{}).Decode([]byte("x"), into); err == nil {
			t.Errorf("decode into %T(nil) works", into)
		}
	}
}

func TestAllocations(t *testing.T) {
	var c raw.Codec
	var v any = []byte("some bytes")
	dst := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { dst, _ = c.Append(dst[:0], v) }); n != 0 {
		t.Errorf("append allocates %v times, want 0", n)
	}
	var into []byte
	if n := testing.AllocsPerRun(100, func() { _ = c.Decode(dst, &into) }); n != 1 {
		t.Errorf("decode allocates %v times, want once, for the copy", n)
	}
}

func ExampleCodec() {
	var c raw.Codec
	src, err := c.Append(nil, "a line of a file")
	fmt.Printf("%s %v\n", src, err)

	fmt.Println(codecs.Of[[]byte]().Check(c))
	fmt.Println(codecs.Of[[]string]().Check(c))
	// Output:
	// a line of a file <nil>
	// <nil>
	// codecs: type cannot be encoded: []string: raw carries []byte and string only
}
