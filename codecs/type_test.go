package codecs_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/codecs/raw"
)

func TestTypeDecodesWhatItIsOf(t *testing.T) {
	c := new(msgpack.Codec)
	src, err := c.Append(nil, []int{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	v, err := codecs.Of[[]int]().Decode(c, src)
	if got, ok := v.([]int); err != nil || !ok || !reflect.DeepEqual(got, []int{1, 2}) {
		t.Errorf("got %#v, %v", v, err)
	}
	if v, err = codecs.Of[[]string]().Decode(c, src); err == nil || v != nil {
		t.Errorf("got %#v, %v: half a value", v, err)
	}
	var p *int
	if src, err = c.Append(nil, p); err != nil {
		t.Fatal(err)
	}
	if v, err = codecs.Of[*int]().Decode(c, src); err != nil || v != any(p) {
		t.Errorf("got %#v, %v", v, err)
	}
}

func TestTypeChecksItself(t *testing.T) {
	for _, tt := range []struct {
		name  string
		typ   codecs.Type
		codec codecs.Codec
		ok    bool
	}{
		{"msgpack carries structs", codecs.Of[struct{ A int }](), new(msgpack.Codec), true},
		{"raw does not", codecs.Of[struct{ A int }](), raw.Codec{}, false},
		{"nothing carries an interface", codecs.Of[error](), new(msgpack.Codec), false},
		{"nor no type", codecs.Type{}, new(msgpack.Codec), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.typ.Check(tt.codec); (err == nil) != tt.ok || err != nil && !errors.Is(err, codecs.ErrNotEncodable) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestZeroType(t *testing.T) {
	var z codecs.Type
	if z.GoType() != nil || z.String() != "no type" || z.Shape() != "" {
		t.Errorf("got %v, %q, %q", z.GoType(), z, z.Shape())
	}
	if _, err := z.Decode(new(msgpack.Codec), []byte{0xc0}); !errors.Is(err, codecs.ErrNotEncodable) {
		t.Errorf("decode: %v", err)
	}
	if got := codecs.Of[time.Time](); got.GoType() != reflect.TypeFor[time.Time]() || got.String() != "time.Time" {
		t.Errorf("got %v, %q", got.GoType(), got)
	}
}
