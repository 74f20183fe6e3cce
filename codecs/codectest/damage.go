package codectest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/weirflow/weir/codecs"
)

// What Decode may allocate: freeBytes and bytesPerByte for each byte it got. The factor is wide because an encoding
// is: a map of one short entry takes 100 times its three bytes.
const (
	freeBytes    = 1 << 20
	bytesPerByte = 256
)

func survivesDamage(tb testing.TB, c codecs.Codec, samples []any) {
	broken := 0
	try := func(like any) func([]byte) bool {
		return func(hurt []byte) bool {
			if !harmless(tb, c, like, hurt) {
				broken++
			}
			return broken < 3 // more of the same tells nothing new
		}
	}
	bombed := map[reflect.Type]bool{}
	for _, v := range carried(c, samples) {
		if t := reflect.TypeOf(v); !bombed[t] {
			bombed[t] = true
			bombs(try(v))
		}
		if src, err := encode(c, nil, v); err == nil {
			damage(src, try(v))
		}
		if broken >= 3 {
			return
		}
	}
}

// damage yields versions of src as a bad peer may send them, each a slice of its own, until yield returns false.
// Long sources are cut and flipped at some places only.
func damage(src []byte, yield func([]byte) bool) {
	step := 1
	switch {
	case len(src) > 4096:
		step = len(src) / 4
	case len(src) > 256:
		step = len(src) / 128
	}
	for n := 0; n < len(src); n += step {
		if !yield(bytes.Clone(src[:n])) {
			return
		}
	}
	for at := 0; at < len(src); at += step {
		for _, mask := range []byte{0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff} {
			hurt := bytes.Clone(src)
			hurt[at] ^= mask
			if !yield(hurt) {
				return
			}
		}
	}
	for _, more := range [][]byte{{0}, {0xff}, src} {
		if !yield(append(bytes.Clone(src), more...)) {
			return
		}
	}
}

// bombs yields, until yield returns false, short inputs that promise much and long ones that nest, in msgpack, CBOR,
// protobuf, gob and JSON, and then noise.
func bombs(yield func([]byte) bool) {
	for _, s := range []string{
		"\xdd\x0f\xff\xff\xff", "\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff", "\xdf\x00\xff\xff\xff", // array and map
		"\xc6\xff\xff\xff\xff", "\xdb\x7f\xff\xff\xff", // bytes and string
		"\xd7\xff\xdf\x00\xff\xff\xff\x00\x00\x00", "\xc9\xff\xff\xff\xff\x05", // extension
		"\x9b\x00\x00\x00\xff\xff\xff\xff\xff", "\xbb\x00\x00\x00\x0f\xff\xff\xff\xff", "\x5b\x00\x00\x00\x0f\xff\xff\xff\xff",
		"\x0a\xff\xff\xff\xff\x0f", "\xfc\x7f\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
		"\xdd\x00\x00\xff\xff" + strings.Repeat("\xc0", 0xffff), // 65 535 times nil
	} {
		if !yield([]byte(s)) {
			return
		}
	}
	for _, s := range []string{"\x91", "\x81", "\x81\xa1k", "\x81\x01", "\xdd\x00\x00\x00\x01", "[", `{"a":`, "\x9f"} {
		if !yield(bytes.Repeat([]byte(s), 1<<16/len(s))) {
			return
		}
	}
	rng := rand.New(rand.NewPCG(1, 2)) // a fixed seed: a failure comes back
	for range 64 {
		noise := make([]byte, rng.IntN(64))
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		if !yield(noise) {
			return
		}
	}
}

// harmless decodes src into a value of like's type and reports panics and large allocations.
func harmless(tb testing.TB, c codecs.Codec, like any, src []byte) bool {
	limit := uint64(freeBytes + bytesPerByte*len(src))
	before := bytes.Clone(src)
	least := ^uint64(0)
	// The counter is the whole process's, and lags behind. What Decode really allocates, it allocates every time.
	for range 5 {
		var err error
		least = min(least, allocated(func() { _, err = decode(c, src, like) }))
		if p := (*panicError)(nil); errors.As(err, &p) {
			tb.Errorf("decode %T: %v: % .64x", like, p, src)
			return false
		}
		if !bytes.Equal(before, src) {
			tb.Errorf("decode %T writes to the source: % .64x", like, before)
			return false
		}
		if least <= limit {
			return true
		}
	}
	tb.Errorf("decode %T allocates %d bytes for %d, more than %d: % .64x", like, least, len(src), limit, src)
	return false
}

// allocated returns how many bytes the process allocated while f ran.
func allocated(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

func fuzzOne(tb testing.TB, c codecs.Codec, like any, src []byte) {
	if !harmless(tb, c, like, src) {
		return
	}
	own := bytes.Clone(src) // the fuzzer's slice is not ours to overwrite
	v, err := decode(c, own, like)
	if err != nil {
		return
	}
	again, err := encode(c, nil, v)
	if err != nil {
		tb.Errorf("%T was decoded, and cannot be encoded: %v: % .64x", like, err, src)
		return
	}
	scribble(own)
	w, err := decode(c, again, like)
	if err != nil {
		tb.Errorf("%T was decoded and encoded, and cannot be decoded: %v: % .64x", like, err, src)
		return
	}
	if diff := difference(v, w); diff != "" {
		tb.Errorf("%T changed on its second way, or with its source: %s: % .64x", like, diff, src)
	}
}
