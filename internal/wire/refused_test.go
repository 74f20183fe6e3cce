package wire_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/internal/wire"
)

// TestWhatIsWrongIsSaid has one message for each reason, and for each rule that has a reason of its own.
func TestWhatIsWrongIsSaid(t *testing.T) {
	zeros := func(n int) []byte { return make([]byte, n) }
	cat := slices.Concat[[]byte]
	// An Open up to its mode, and a Stream one up to the lengths of its lists.
	open := cat([]byte{1, 1, 1, 0, 0, 0, 0, 0, 0, 0}, zeros(32), []byte{0})
	stream := cat(open, []byte{2, 1, 0, 0, 0, 0})
	end, hung := uint64(1)<<63, []byte{255, 255, 255, 255, 255, 255, 255, 255, 127} // the highest index
	for _, c := range []struct {
		name   string
		bytes  []byte
		kind   string
		offset int
		reason string
	}{
		{"nothing", nil, "message", 0, "it ends too early"},
		{"kind 0", []byte{0}, "message", 0, "no such kind"},
		{"kind 22", []byte{22, 1, 2}, "message", 0, "no such kind"},
		{"a byte behind", []byte{19, 0}, "Ping", 1, "bytes behind its end"},
		{"number cut", []byte{5, 0x80}, "End", 1, "it ends too early"},
		{"number with a zero in front", []byte{5, 0x81, 0}, "End", 1, "shortest way"},
		{"zero of two bytes", []byte{5, 0x80, 0}, "End", 1, "shortest way"},
		{"more than 64 bits", []byte{5, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2}, "End", 1, "64 bits"},
		{"eleven bytes", []byte{5, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, "End", 1, "64 bits"},
		{"code 0", []byte{3, 0, 0}, "Refuse", 2, "no code"},
		{"text beyond the end", []byte{9, 3, 'a', 'b'}, "Cancel", 1, "it ends too early"},
		{"text above its limit", cat(appendUvarint([]byte{9}, wire.MaxText+1), zeros(wire.MaxText+1)), "Cancel", 1, "above its limit"},
		{"mode 0", cat(open, []byte{0, 1, 0, 0}), "Open", 44, "no such mode"},
		{"mode 3", cat(open, []byte{3, 1, 0, 0}), "Open", 44, "no such mode"},
		{"versions that descend", cat([]byte{1, 2, 5, 4}, zeros(60)), "Open", 4, "ascending"},
		{"a version twice", cat([]byte{1, 2, 5, 5}, zeros(60)), "Open", 4, "ascending"},
		{"member -1", []byte{12, 0, 0, 0, 1, 1, 0, 0, 0, 2, 1, 1, 1, 0}, "Frame", 0, "above its limit"},
		{"sibling of input -1", []byte{12, 0, 0, 0, 1, 1, 0, 0, 0, 2, 1, 9, 1, 2, '.', '1', 0}, "Frame", 0, "above its limit"},
		{"too many versions", cat([]byte{1, 17}, zeros(99)), "Open", 2, "more elements"},
		{"lists without room", cat(stream, []byte{1, 1, 1}, zeros(6)), "Open", 0, "more elements"},
		{"spans that overlap", cat(stream, []byte{2, 0, 0, 1, 0, 1, 5, 1, 1, 0, 1, 0, 0}), "Open", 0, "ascending"},
		{"span of the same source, said again", cat(stream, []byte{1, 0, 0, 1, 0, 0, 5, 1}), "Open", 0, "ascending"},
		{"span that begins at the end", cat(stream, []byte{1, 0, 0, 0}, hung, []byte{0}), "Open", 0, "above its limit"},
		{"span that ends behind the end", cat(stream, []byte{1, 0, 0, 0, 5}, hung), "Open", 0, "above its limit"},
		{"parts of inputs that descend", cat(stream, []byte{0, 2, 0, 1, 14, 1, 3}), "Open", 0, "ascending"},
		{"parts of sources that descend", cat(stream, []byte{0, 2, 0, 2, 1, 0, 2, 0, 1}), "Open", 0, "ascending"},
		{"positions twice", []byte{8, 2, 1, 1, 5, 1, 1, 6}, "Stopped", 8, "ascending"},
		{"unknown bit of a task", []byte{4, 2, 0, 0}, "Task", 1, "means nothing"},
		{"unknown bit of an item", []byte{4, 0, 1, 0, 0, 128, 0}, "Task", 5, "means nothing"},
		{"the next id, said", []byte{4, 0, 1, 0, 0, 1, 0, 0}, "Task", 6, "goes without saying"},
		{"the same source, said", []byte{4, 0, 1, 0, 0, 4, 0, 0, 0}, "Task", 6, "goes without saying"},
		{"the next index, said", []byte{4, 0, 1, 0, 0, 2, 0, 0}, "Task", 6, "goes without saying"},
		{"an empty path, said", []byte{4, 0, 1, 0, 0, 8, 0, 0}, "Task", 6, "a path is not"},
		{"no skip, said", []byte{4, 0, 1, 0, 0, 16, 0, 0}, "Task", 6, "goes without saying"},
		{"no blocks, said", []byte{4, 0, 1, 0, 1, 64, 0, 0, 0, 0}, "Task", 7, "goes without saying"},
		{"index -1", []byte{4, 0, 1, 0, 0, 2, 1, 0}, "Task", 0, "above its limit"},
		{"source 65536", cat([]byte{4, 0, 1, 0, 0, 4}, appendUvarint(nil, 1<<16), zeros(2)), "Task", 6, "above its limit"},
		{"epoch of 32 bits", cat([]byte{4, 0, 1, 0, 0, 4, 0}, appendUvarint(nil, 1<<31), zeros(1)), "Task", 7, "above its limit"},
		{"more blocks than announced", []byte{4, 0, 1, 0, 0, 64, 0, 1, 1, 1, 1}, "Task", 8, "more elements than it announces"},
		{"fewer blocks than announced", []byte{4, 0, 1, 0, 1, 0, 1, 'x'}, "Task", 0, "more elements than it has room"},
		{"a block that no item has", []byte{4, 0, 1, 0, 1, 0, 3, 'x', 'y', 'z'}, "Task", 10, "fewer elements"},
		{"block behind the end", cat([]byte{18, 1}, hung, []byte{1, 0}), "Release", 11, "above its limit"},
		{"generation of 33 bits", cat([]byte{18, 1, 0, 1}, appendUvarint(nil, 1<<32)), "Release", 4, "above its limit"},
		{"no output, and several", []byte{10, 1, 0, 0, 0, 6}, "Result", 6, "means nothing"},
		{"several outputs, namely none", []byte{10, 1, 0, 0, 0, 4, 0}, "Result", 6, "goes without saying"},
		{"several outputs, namely a plain one", []byte{10, 1, 1, 0, 0, 4, 1, 0, 0}, "Result", 9, "goes without saying"},
		{"more outputs than announced", []byte{10, 1, 0, 0, 0, 0, 0}, "Result", 0, "more elements than it announces"},
		{"an output that no entry has", []byte{10, 1, 1, 1, 0, 10, 1, 0, 0, 0, 0, 0, 0}, "Result", 13, "fewer elements"},
		{"no failures, said", []byte{10, 1, 0, 0, 0, 10, 0}, "Result", 6, "goes without saying"},
		{"blocks of no letter", []byte{10, 1, 0, 1, 1, 10, 1, 64, 0, 0, 0, 0, 1, 1, 1, 1}, "Result", 0, "means nothing"},
		{"more counts than bytes", []byte{10, 0, 0, 0, 0, 2, 1}, "Result", 0, "more elements than it has room"},
		{"a count above the highest index", cat([]byte{10, 0, 0, 0, 0, 1}, appendUvarint(nil, end)), "Result", 6, "above its limit"},
		{"port 65536", cat([]byte{11, 0, 0, 1, 0, 1}, appendUvarint(nil, 1<<16), zeros(1)), "Part", 6, "above its limit"},
		{"the same epoch, said", []byte{12, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0}, "Frame", 10, "goes without saying"},
		{"members, namely the next one", []byte{12, 0, 0, 0, 1, 1, 0, 0, 0, 2, 1, 0, 0}, "Frame", 10, "goes without saying"},
		{"more members than announced", []byte{12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, "Frame", 10, "more elements than it announces"},
		{"siblings above their limit", cat([]byte{12, 0, 0, 0, 1, 1, 0, 0, 0, 2, 1, 12}, appendUvarint(nil, wire.MaxCount-1), []byte{2, '.', '1', 0}), "Frame", 0, "above its limit"},
		{"end of an epoch behind the items", []byte{4, 0, 1, 1, 0, 0, 0, 0, 2}, "Task", 8, "above its limit"},
		{"a task without its bits", []byte{4}, "Task", 1, "it ends too early"},
		{"end of an epoch behind the outputs", []byte{12, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1}, "Frame", 10, "above its limit"},
		{"ends of epochs that descend", []byte{12, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 1, 0}, "Frame", 13, "ascending"},
		{"unknown bit of a profile", []byte{17, 2, 0, 0, 0, 0}, "Profile", 1, "means nothing"},
		{"a time that is negative", cat([]byte{17, 0, 0, 0}, appendUvarint(nil, end), []byte{0}), "Profile", 4, "above its limit"},
	} {
		err := check(t, c.bytes)
		var e *wire.Error
		if !errors.As(err, &e) {
			t.Errorf("%s is accepted", c.name)
			continue
		}
		if e.Kind != c.kind || c.offset > 0 && e.Offset != c.offset || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s: %v, not %s at %d: %s", c.name, e, c.kind, c.offset, c.reason)
		}
	}
}

func TestPathsAreNumbers(t *testing.T) {
	for path, good := range map[string]bool{
		".0": true, ".10.0.4294967295": true, ".": false, "..1": false, ".1.": false, "1": false, ".01": false, ".00": false, ".1 ": false,
		".a": false, ".-1": false, "\n": false, strings.Repeat(".1", wire.MaxPath/2): true, strings.Repeat(".1", wire.MaxPath/2) + ".1": false,
	} {
		b := wire.Append(nil, &wire.Task{Items: []wire.Item{{Identity: wire.Identity{Path: path}}}})
		if err := check(t, b); (err == nil) != good {
			t.Errorf("path %.20q: %v", path, err)
		}
	}
}

func TestAMessageAboveTheLargestSizeIsRefused(t *testing.T) {
	m := &wire.Task{Items: []wire.Item{{Payload: wire.Payload{Bytes: make([]byte, wire.MaxPayload)}}}}
	b := wire.Append(nil, m)
	if _, err := wire.Decode(b); err != nil {
		t.Error(err)
	}
	m.Items = append(m.Items, wire.Item{ID: 1, Identity: wire.Identity{Index: 1}, Payload: wire.Payload{Bytes: make([]byte, 1<<20)}})
	if _, err := wire.Decode(wire.Append(b[:0], m)); err == nil || !strings.Contains(err.Error(), "largest size") {
		t.Error(err)
	}
}

func TestAppendDoesNotHideWhatIsWrong(t *testing.T) {
	for _, m := range []wire.Message{
		&wire.Task{Items: []wire.Item{{Skip: -1}}}, &wire.Task{Items: []wire.Item{{Identity: wire.Identity{Index: -1}}}},
		&wire.Task{Items: []wire.Item{{Identity: wire.Identity{Source: -1}}}}, &wire.Task{Items: []wire.Item{{Attempt: -1}}},
		&wire.Open{}, &wire.Open{Mode: wire.Keyed, Window: -1}, &wire.Open{Mode: wire.Keyed, Grace: -1}, &wire.Refuse{},
		&wire.Frame{Done: []wire.Span{{From: 5, To: 5}}}, &wire.Frame{Done: []wire.Span{{From: 5, To: 4}}}, &wire.Frame{Done: []wire.Span{{From: -1, To: 4}}},
		&wire.Frame{Done: []wire.Span{{To: 4, Fate: 4}}}, &wire.Frame{Done: []wire.Span{{To: 4, Fate: 255}}},
		&wire.Frame{Done: []wire.Span{{From: 5, To: 6}, {From: 0, To: 1}}}, &wire.Frame{Done: []wire.Span{{Source: 1, To: 6}, {To: 1}}},
		&wire.Frame{Outputs: []wire.FrameOutput{{Members: []wire.Member{{}}}}}, &wire.Frame{Outputs: []wire.FrameOutput{{Members: []wire.Member{{N: -1}}}}},
		&wire.Frame{Outputs: []wire.FrameOutput{{Epoch: -1}}}, &wire.Frame{Epochs: []wire.EpochEnd{{After: -1}}}, &wire.Stopped{At: make([]wire.Position, 2)},
	} {
		if err := check(t, wire.Append(nil, m)); err == nil {
			t.Errorf("%+v is accepted", m)
		}
	}
}

func TestVersionsOfAnOpenThatIsNotUnderstood(t *testing.T) {
	later := []byte{1, 2, 2, 3, 99, 98, 97}
	if check(t, later) == nil {
		t.Fatal("it is understood")
	}
	if got := wire.Versions(later); !slices.Equal(got, []uint32{2, 3}) {
		t.Error(got)
	}
	for _, b := range [][]byte{nil, {1}, {1, 200}, {1, 2, 3, 2, 0}, {2, 1, 1}} {
		if got := wire.Versions(b); got != nil {
			t.Errorf("%x has versions %v", b, got)
		}
	}
}

func TestAMessageOfManyItemsIsMadeInFewPieces(t *testing.T) {
	odd := task()
	for i := range odd.Items {
		odd.Items[i].Identity.Path = ".3.1"
	}
	for _, c := range []struct {
		m    wire.Message
		most float64
	}{{task(), 2}, {result(), 3}, {frame(), 5}, {odd, 3}} {
		b := wire.Append(nil, c.m)
		if n := testing.AllocsPerRun(20, func() { b = wire.Append(b[:0], c.m) }); n != 0 {
			t.Errorf("writing a %s allocates %v times", name(c.m), n)
		}
		if n := testing.AllocsPerRun(20, func() { _, _ = wire.Decode(b) }); n > c.most {
			t.Errorf("reading a %s allocates %v times", name(c.m), n)
		}
	}
}
