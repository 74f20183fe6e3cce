package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"testing"

	"github.com/weirflow/weir/internal/wire"
)

func TestEveryMessageArrivesAsItWasSent(t *testing.T) {
	for seed := range uint64(200) {
		d := newDice(seed)
		for k := range kinds {
			m := d.message(k)
			b := wire.Append([]byte("before"), m)
			got, err := wire.Decode(b[6:])
			if err != nil {
				t.Fatalf("seed %d: %T: %v\n%+v", seed, m, err, m)
			}
			if !reflect.DeepEqual(got, m) {
				t.Fatalf("seed %d: sent\n%+v\narrived\n%+v", seed, m, got)
			}
			if again := wire.Append(nil, got); !bytes.Equal(again, b[6:]) {
				t.Fatalf("seed %d: %T: %x became %x", seed, m, b[6:], again)
			}
		}
	}
}

// check decodes b and holds what must be true of any bytes: an *Error, or a message of which b is the only form.
func check(t testing.TB, b []byte) error {
	before := bytes.Clone(b)
	m, err := wire.Decode(b)
	if !bytes.Equal(b, before) {
		t.Fatalf("decoding changed %x", before)
	}
	if err != nil {
		var e *wire.Error
		switch {
		case !errors.As(err, &e):
			t.Fatalf("%x: %T: %v", b, err, err)
		case m != nil:
			t.Fatalf("%x: a message and an error: %v", b, err)
		case e.Offset < 0 || e.Offset > len(b) || e.Reason == "" || e.Kind == "":
			t.Fatalf("%x: %#v", b, e)
		}
		return err
	}
	if again := wire.Append(nil, m); !bytes.Equal(again, b) {
		t.Fatalf("%x was accepted, and is written as %x", b, again)
	}
	return nil
}

// checkMemory holds the bound of what decoding b allocates. The counter is that of the process, so that a second look
// is taken before it is believed.
func checkMemory(t testing.TB, b []byte) {
	most := uint64(100*len(b) + 1024)
	var before, after runtime.MemStats
	for range 5 {
		runtime.ReadMemStats(&before)
		m, _ := wire.Decode(b)
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(m)
		if after.TotalAlloc-before.TotalAlloc <= most {
			return
		}
	}
	t.Fatalf("decoding %d bytes allocates %d: %x", len(b), after.TotalAlloc-before.TotalAlloc, b[:min(len(b), 200)])
}

func TestAMessageThatWasCutIsRefused(t *testing.T) {
	for _, m := range samples() {
		b := wire.Append(nil, m)
		for n := range b {
			err := check(t, b[:n:n])
			var e *wire.Error
			if !errors.As(err, &e) {
				t.Fatalf("%s is accepted after %d of %d bytes", name(m), n, len(b))
			}
			if n > 0 && e.Kind != name(m) {
				t.Errorf("%s is called %s", name(m), e.Kind)
			}
		}
		if err := check(t, append(b[:len(b):len(b)], 0)); err == nil {
			t.Errorf("%s is accepted with a byte behind it", name(m))
		}
	}
}

func TestAFlippedBitIsRefusedOrAnotherMessage(t *testing.T) {
	for _, m := range samples() {
		b := wire.Append(nil, m)
		for i := range len(b) * 8 {
			b[i/8] ^= 1 << (i % 8)
			if check(t, b) == nil {
				if got, _ := wire.Decode(b); reflect.DeepEqual(got, m) {
					t.Errorf("%s does not show that bit %d of byte %d was flipped", name(m), i%8, i/8)
				}
			}
			checkMemory(t, b)
			b[i/8] ^= 1 << (i % 8)
		}
	}
}

func TestAnyBytesAreRefusedOrTheOnlyFormOfAMessage(t *testing.T) {
	for seed := range uint64(60) {
		d := newDice(seed)
		for k := range kinds {
			b := wire.Append(nil, d.message(k))
			for range 20 {
				c := bytes.Clone(b)
				for range 1 + d.IntN(3) {
					switch i := d.IntN(len(c)); d.IntN(4) {
					case 0:
						c[i] = byte(d.Uint32())
					case 1:
						c = append(c[:i], c[i+1:]...)
					case 2:
						c = append(c[:i:i], append([]byte{byte(d.Uint32())}, c[i:]...)...)
					case 3:
						c[i]++
					}
					if len(c) == 0 {
						c = []byte{byte(k + 1)}
					}
				}
				check(t, c)
			}
		}
	}
}

// What a few bytes announce is not allocated, nor are the largest elements in the smallest form more than the bound.
func TestAnnouncementsAreNotBelieved(t *testing.T) {
	const most = 1 << 20
	announce := func(k byte, before int, n ...uint64) []byte {
		b := append([]byte{k}, make([]byte, before)...)
		for _, u := range n {
			b = appendUvarint(b, u)
		}
		return b
	}
	for _, b := range [][]byte{
		announce(4, 1, most), announce(4, 1, 0, most), announce(4, 1, 0, 0, most), announce(4, 1, most+1), announce(4, 1, 1<<63), announce(8, 0, most),
		announce(10, 0, most), announce(10, 0, 0, most), announce(10, 0, 1, most), announce(10, 0, 0, 0, most), announce(10, 0, 0, 0, 0, most),
		announce(11, 2, most), announce(12, 1, most), announce(12, 2, most), announce(12, 3, most), announce(12, 4, most),
		announce(12, 5, most), announce(12, 6, most), announce(12, 7, most), announce(18, 0, most), announce(1, 0, most),
	} {
		if check(t, b) == nil {
			t.Errorf("%x is accepted", b)
		}
		checkMemory(t, b)
	}
	const n = 20000
	full := &wire.Frame{}
	for i := range n {
		full.Outputs = append(full.Outputs, wire.FrameOutput{Members: []wire.Member{{Index: int64(i), N: 1}}})
	}
	entries, empty, items := &wire.Result{}, &wire.Result{}, &wire.Task{}
	for i := range n {
		entries.Entries = append(entries.Entries, wire.Entry{ID: uint64(i), Outputs: make([]wire.Output, 1)})
		empty.Entries = append(empty.Entries, wire.Entry{ID: uint64(i)})
		items.Items = append(items.Items, wire.Item{ID: uint64(i), Identity: wire.Identity{Index: int64(i)}})
	}
	for _, m := range []wire.Message{full, entries, empty, items} {
		b := wire.Append(nil, m)
		if err := check(t, b); err != nil {
			t.Error(err)
		}
		checkMemory(t, b)
	}
}

func appendUvarint(b []byte, u uint64) []byte {
	for ; u >= 0x80; u >>= 7 {
		b = append(b, byte(u)|0x80)
	}
	return append(b, byte(u))
}

func FuzzDecode(f *testing.F) {
	all := recorded(f)
	for _, m := range samples() {
		f.Add(all[name(m)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		check(t, b)
		checkMemory(t, b)
	})
}
