package msgpack

import (
	"reflect"
	"testing"
	"time"
)

type inner struct {
	A int
	B []string
	C map[string]int
	D *inner
	T time.Time
	P **int
}

func TestSmoke(t *testing.T) {
	n := 7
	pn := &n
	var c Codec
	in := inner{A: -3, B: []string{"x", ""}, C: map[string]int{"b": 1, "a": 2}, D: &inner{B: []string{}}, T: time.Now().Round(0), P: &pn}
	b, err := c.Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("% x", b)
	var out inner
	if err := c.Decode(b, &out); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in, out) {
		t.Fatalf("%+v", out)
	}
}

type item struct {
	ID    uint64
	Key   string
	Label int64
	Score float64
	Data  []byte
}

func BenchmarkAppend(b *testing.B) {
	var c Codec
	v := any(item{ID: 1 << 40, Key: "img/0123456789abcdef.jpg", Label: 70000, Score: 1.5, Data: make([]byte, 48)})
	buf := make([]byte, 0, 1000)
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = c.Append(buf[:0], v)
	}
}

func BenchmarkDecode(b *testing.B) {
	var c Codec
	buf, _ := c.Append(nil, item{ID: 1 << 40, Key: "img/0123456789abcdef.jpg", Label: 70000, Score: 1.5, Data: make([]byte, 48)})
	b.ReportAllocs()
	var v item
	for b.Loop() {
		if err := c.Decode(buf, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	var c Codec
	buf, _ := c.Append(nil, item{ID: 1 << 40, Key: "img/0123456789abcdef.jpg", Label: 70000, Score: 1.5, Data: make([]byte, 48)})
	b.ReportAllocs()
	for b.Loop() {
		if err := validate(buf, 100); err != nil {
			b.Fatal(err)
		}
	}
}
