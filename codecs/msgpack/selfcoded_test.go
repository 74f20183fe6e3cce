package msgpack

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// keeper keeps what it is given to decode, which encoding.BinaryUnmarshaler forbids and many do.
type keeper struct{ b []byte }

func (k *keeper) AppendBinary(b []byte) ([]byte, error) { return append(b, k.b...), nil }
func (k *keeper) UnmarshalBinary(b []byte) error        { k.b = b; return nil }

// forgetful returns its own bytes and forgets those it was to extend.
type forgetful struct{ N int }

func (f *forgetful) AppendBinary([]byte) ([]byte, error) {
	return bytes.Repeat([]byte("own"), 100), nil
}
func (f *forgetful) UnmarshalBinary([]byte) error { return nil }

// tally adds what it is given to what it has.
type tally struct{ n int }

func (t *tally) MarshalBinary() ([]byte, error) { return make([]byte, t.n), nil }
func (t *tally) UnmarshalBinary(b []byte) error { t.n += len(b); return nil }

// moody fails as it is told.
type moody struct{ how string }

var errMoody = errors.New("moody")

func (m moody) act() error {
	switch m.how {
	case "panic":
		panic("moody")
	case "nil":
		var p *moody
		p.how = "" // a runtime error
	case "error":
		return errMoody
	}
	return nil
}

func (m moody) MarshalBinary() ([]byte, error) { return []byte(m.how), m.act() }
func (m *moody) UnmarshalBinary(b []byte) error {
	m.how = string(b)
	return m.act()
}

// moodyBulk embeds nothing: its methods are its own.
type moodyBulk struct{ m moody }

func (m *moodyBulk) Split() (head, block []byte, err error) { return nil, nil, m.m.act() }
func (m *moodyBulk) Join(head, _ []byte) error              { return moody{string(head)}.act() }

func TestSelfCodedGetsItsOwnBytes(t *testing.T) {
	var c Codec
	src, err := c.Append(nil, []keeper{{[]byte("kept")}})
	if err != nil {
		t.Fatal(err)
	}
	var got []keeper
	if err := c.Decode(src, &got); err != nil {
		t.Fatal(err)
	}
	clear(src)
	if string(got[0].b) != "kept" {
		t.Errorf("got %q", got[0].b)
	}
	var ts []tensor
	if src, err = c.Append(nil, []tensor{{data: []byte("block")}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Decode(src, &ts); err != nil {
		t.Fatal(err)
	}
	clear(src)
	if string(ts[0].data) != "block" || cap(ts[0].data) > 8 {
		t.Errorf("got %q with room for %d", ts[0].data, cap(ts[0].data))
	}
}

func TestSelfCodedBeginsAtZero(t *testing.T) {
	var c Codec
	src, err := c.Append(nil, tally{3})
	if err != nil {
		t.Fatal(err)
	}
	sum := tally{4}
	if err := c.Decode(src, &sum); err != nil || sum.n != 3 {
		t.Errorf("got %v, %v", sum, err)
	}
	if src, err = c.Append(nil, tensor{dims: []uint32{1}}); err != nil {
		t.Fatal(err)
	}
	whole := tensor{dims: []uint32{2, 3}}
	if err := c.Decode(src, &whole); err != nil || len(whole.dims) != 1 {
		t.Errorf("got %v, %v", whole, err)
	}
}

func TestAppendBinaryMustExtend(t *testing.T) {
	var c Codec
	for _, dst := range [][]byte{nil, []byte("prefix"), make([]byte, 3, 200)} {
		if out, err := c.Append(dst, []forgetful{{}}); err == nil || !strings.Contains(err.Error(), "forgetful does not return what it was given") {
			t.Errorf("got % x, %v", out, err)
		}
	}
}

func TestLongSelfCoded(t *testing.T) {
	var c Codec
	for _, n := range []int{0, 1, 255, 256, 65535, 65536} {
		in := keeper{[]byte(strings.Repeat("k", n))}
		src, err := c.Append([]byte("prefix"), in)
		if err != nil {
			t.Fatal(err)
		}
		var got keeper
		if err := c.Decode(src[len("prefix"):], &got); err != nil || string(got.b) != string(in.b) {
			t.Errorf("%d bytes: %d came back, %v", n, len(got.b), err)
		}
	}
}

func TestMethodsOfValuesMayFail(t *testing.T) {
	var c Codec
	for _, tt := range []struct{ how, says string }{
		{"panic", "msgpack: panic: moody"},
		{"nil", "nil pointer dereference"},
		{"error", "moody"},
	} {
		t.Run(tt.how, func(t *testing.T) {
			check := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%s: %v, want %q", what, err, tt.says)
				}
				if tt.how == "error" && !errors.Is(err, errMoody) {
					t.Errorf("%s: %v does not wrap the method's error", what, err)
				}
			}
			out, err := c.Append([]byte("kept"), []moody{{tt.how}})
			check("append", err)
			if string(out) != "kept" {
				t.Errorf("append returns %q", out)
			}
			_, err = c.Append(nil, moodyBulk{moody{tt.how}})
			check("append of a Bulk", err)
			bin := append([]byte{0xc4, byte(len(tt.how))}, tt.how...)
			check("decode", c.Decode(bin, new(moody)))
			check("decode of a Bulk", c.Decode(append(append([]byte{0x92}, bin...), 0xc4, 0), new(moodyBulk)))
			if _, err := c.Append(nil, []moody{{"well"}}); err != nil {
				t.Errorf("the codec is not itself afterwards: %v", err)
			}
		})
	}
}

func TestEmbeddedMethodsDoNotHideFields(t *testing.T) {
	var c Codec
	in := Stamped{Camera: 3}
	src, err := c.Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	var got Stamped
	if err := c.Decode(src, &got); err != nil || !reflect.DeepEqual(in, got) {
		t.Errorf("got %+v, %v", got, err)
	}
}
