package codectest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
)

// A recorder is a testing.TB that remembers what was reported. A method it lacks panics, which a test then sees.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	errors []string // guarded by mu
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// broken is a codec of which one thing is wrong. What is nil is as msgpack has it.
type broken struct {
	msgpack.Codec
	name   func() string
	append func(good codecs.Codec, dst []byte, v any) ([]byte, error)
	decode func(good codecs.Codec, src []byte, into any) error
	check  func(good codecs.Codec, t reflect.Type) error
}

func (b *broken) Name() string {
	if b.name != nil {
		return b.name()
	}
	return b.Codec.Name()
}

func (b *broken) Append(dst []byte, v any) ([]byte, error) {
	if b.append != nil {
		return b.append(&b.Codec, dst, v)
	}
	return b.Codec.Append(dst, v)
}

func (b *broken) Decode(src []byte, into any) error {
	if b.decode != nil {
		return b.decode(&b.Codec, src, into)
	}
	return b.Codec.Decode(src, into)
}

func (b *broken) Check(t reflect.Type) error {
	if b.check != nil {
		return b.check(&b.Codec, t)
	}
	return b.Codec.Check(t)
}

type sample struct {
	ID   int
	Data []byte
}

// TestEveryRuleCanFail gives each rule a codec that breaks it and, for the rules that need it, one that breaks it in
// another way. Rules that the codec does not break must hold.
func TestEveryRuleCanFail(t *testing.T) {
	var calls atomic.Int64
	var busy atomic.Int32
	for _, tt := range []struct {
		name   string
		codec  *broken
		breaks string // the rule
		says   string // part of the report
	}{
		{"a name that changes", &broken{name: func() string { return fmt.Sprint(calls.Add(1)) }}, "its name stays the same", `names "1" and "2"`},
		{"no name", &broken{name: func() string { return "" }}, "its name stays the same", `names "" and ""`},
		{
			"check accepts unexported fields",
			&broken{check: func(good codecs.Codec, t reflect.Type) error {
				if t == reflect.TypeFor[hidden]() {
					return nil
				}
				return good.Check(t)
			}},
			"it refuses what cannot travel", "check codectest.hidden: <nil>",
		},
		{
			"check has an error of its own",
			&broken{check: func(codecs.Codec, reflect.Type) error { return errors.New("no") }},
			"it refuses what cannot travel", "no, want codecs.ErrNotEncodable",
		},
		{
			"check refuses a sample",
			&broken{check: func(good codecs.Codec, t reflect.Type) error {
				if t == reflect.TypeFor[sample]() {
					return codecs.ErrNotEncodable
				}
				return good.Check(t)
			}},
			"it accepts the samples", "check codectest.sample: codecs: type cannot be encoded",
		},
		{
			"check accepts what append refuses",
			&broken{append: func(good codecs.Codec, dst []byte, v any) ([]byte, error) {
				if _, ok := v.(sample); ok {
					return dst, errors.New("not today")
				}
				return good.Append(dst, v)
			}},
			"values survive the round trip", "check accepts codectest.sample, append does not: not today",
		},
		{
			"append panics",
			&broken{append: func(good codecs.Codec, dst []byte, v any) ([]byte, error) {
				if _, ok := v.(sample); ok {
					panic("oops")
				}
				return good.Append(dst, v)
			}},
			"values survive the round trip", "panic: oops",
		},
		{
			"decode loses a field",
			&broken{decode: func(good codecs.Codec, src []byte, into any) error {
				err := good.Decode(src, into)
				if s, ok := into.(*sample); ok {
					s.ID = 0
				}
				return err
			}},
			"values survive the round trip", "codectest.sample came back changed: it.ID: 0, want 7",
		},
		{
			"append forgets dst",
			&broken{append: func(good codecs.Codec, _ []byte, v any) ([]byte, error) { return good.Append(nil, v) }},
			"append extends what it is given", "does not keep what dst held",
		},
		{
			"append writes into dst",
			&broken{append: func(good codecs.Codec, dst []byte, v any) ([]byte, error) {
				if len(dst) > 0 {
					dst[0] ^= 1
				}
				return good.Append(dst, v)
			}},
			"append extends what it is given", "does not keep what dst held",
		},
		{"append returns the value's own bytes", onlyBytes(func(b *broken) {
			b.append = func(_ codecs.Codec, dst []byte, v any) ([]byte, error) {
				if len(dst) == 0 {
					return v.([]byte), nil
				}
				return append(dst, v.([]byte)...), nil
			}
		}), "append keeps nothing of the value", "append kept it"},
		{"decode returns the source's own bytes", onlyBytes(func(b *broken) {
			b.decode = func(_ codecs.Codec, src []byte, into any) error {
				*into.(*[]byte) = src
				return nil
			}
		}), "decode keeps nothing of the source", "changes with the source"},
		{
			"decode writes to the source",
			&broken{decode: func(good codecs.Codec, src []byte, into any) error {
				defer scribble(src)
				return good.Decode(src, into)
			}},
			"decode keeps nothing of the source", "writes to the source",
		},
		{
			"decode panics on a short source",
			&broken{decode: func(good codecs.Codec, src []byte, into any) error {
				_ = src[0]
				return good.Decode(src, into)
			}},
			"damaged input does no harm", "panic: runtime error: index out of range",
		},
		{
			"decode trusts a length",
			&broken{decode: func(good codecs.Codec, src []byte, into any) error {
				if len(src) == 5 && src[0] == 0xdd {
					bomb := make([]byte, min(binary.BigEndian.Uint32(src[1:]), 1<<25))
					runtime.KeepAlive(bomb)
				}
				return good.Decode(src, into)
			}},
			"damaged input does no harm", "for 5, more than 1049856: dd 0f ff ff ff",
		},
		{
			"two at once are one too many",
			&broken{append: func(good codecs.Codec, dst []byte, v any) ([]byte, error) {
				defer busy.Add(-1)
				if busy.Add(1) > 1 {
					v = reflect.Zero(reflect.TypeOf(v)).Interface() // the other one's buffer
				}
				for range 1000 { // let another one in
					runtime.Gosched()
					if busy.Load() > 1 {
						break
					}
				}
				return good.Append(dst, v)
			}},
			"many goroutines may use it", "while others do the same",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			samples := []any{sample{7, []byte("seven")}}
			if tt.codec.Check(reflect.TypeFor[sample]()) != nil && tt.breaks != "it accepts the samples" {
				samples = []any{[]byte("seven")}
			}
			found := false
			for _, r := range rules() {
				if r.name != tt.breaks {
					continue
				}
				found = true
				var rec recorder
				r.hold(&rec, tt.codec, samples)
				if len(rec.errors) == 0 {
					t.Fatal("the rule holds")
				}
				if all := strings.Join(rec.errors, "\n"); !strings.Contains(all, tt.says) {
					t.Errorf("reports %.500s\nwant something with %q", all, tt.says)
				}
			}
			if !found {
				t.Fatalf("no rule %q", tt.breaks)
			}
		})
	}
}

// onlyBytes returns a codec of []byte as they are, spoilt by f.
func onlyBytes(f func(*broken)) *broken {
	b := &broken{
		append: func(_ codecs.Codec, dst []byte, v any) ([]byte, error) { return append(dst, v.([]byte)...), nil },
		decode: func(_ codecs.Codec, src []byte, into any) error {
			*into.(*[]byte) = bytes.Clone(src)
			return nil
		},
		check: func(_ codecs.Codec, t reflect.Type) error {
			if t != reflect.TypeFor[[]byte]() {
				return codecs.ErrNotEncodable
			}
			return nil
		},
	}
	f(b)
	return b
}

func TestNothingToTestIsAFailure(t *testing.T) {
	var rec recorder
	acceptsSamples(&rec, &broken{check: func(codecs.Codec, reflect.Type) error { return codecs.ErrNotEncodable }}, nil)
	if len(rec.errors) != 1 || !strings.Contains(rec.errors[0], "nothing to test with") {
		t.Errorf("reports %q", rec.errors)
	}
}

func TestFuzzTargetCanFail(t *testing.T) {
	good := new(msgpack.Codec)
	valid, err := good.Append(nil, sample{7, []byte("seven")})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		codec codecs.Codec
		src   []byte
		says  string
	}{
		{"a good codec", good, valid, ""},
		{"a good codec, a bad source", good, valid[1:], ""},
		{"decode panics", &broken{decode: func(codecs.Codec, []byte, any) error { panic("oops") }}, valid, "panic: oops"},
		{
			"what was decoded cannot be encoded",
			&broken{append: func(_ codecs.Codec, dst []byte, _ any) ([]byte, error) { return dst, errors.New("no") }},
			valid, "cannot be encoded: no",
		},
		{"decode keeps the source", onlyBytes(func(b *broken) {
			b.decode = func(_ codecs.Codec, src []byte, into any) error {
				*into.(*[]byte) = src
				return nil
			}
		}), []byte("abc"), "with its source"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var like any = sample{}
			if tt.codec.Check(reflect.TypeOf(like)) != nil {
				like = []byte(nil)
			}
			var rec recorder
			fuzzOne(&rec, tt.codec, like, tt.src)
			all := strings.Join(rec.errors, "\n")
			if (tt.says == "") != (all == "") || !strings.Contains(all, tt.says) {
				t.Errorf("reports %q, want something with %q", all, tt.says)
			}
		})
	}
}

func TestRun(t *testing.T) {
	Run(t, new(msgpack.Codec), sample{}, sample{7, []byte("seven")}, []sample{{}, {ID: -1}})
}

func FuzzFuzz(f *testing.F) { Fuzz(f, new(msgpack.Codec), sample{7, []byte("seven")}, []sample(nil)) }
