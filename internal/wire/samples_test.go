package wire_test

import (
	"encoding/hex"
	"flag"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/internal/wire"
)

// name is the name of a message's type.
func name(m wire.Message) string { return reflect.TypeOf(m).Elem().Name() }

// samples are messages of every kind in which everything occurs that can be said.
func samples() []wire.Message {
	id := func(source, epoch int, index int64, path string) wire.Identity {
		return wire.Identity{Source: source, Epoch: epoch, Index: index, Path: path}
	}
	of := func(s string, blocks ...wire.Block) (p wire.Payload) {
		if p.Blocks = blocks; s != "" {
			p.Bytes = []byte(s)
		}
		return p
	}
	block := wire.Block{Offset: 1 << 20, Length: 70000, Generation: 3}
	failed := wire.Failure{Stage: 2, Identity: id(0, 1, 7, ".3"), Attempts: 3, Finished: 300, Fatal: true, Error: []byte("broken"), Lettered: true, Letter: of("x", block)}
	hung := wire.Failure{Stage: 3, Identity: id(0, 1, 8, ""), Hung: true, Poison: true, Error: []byte("hung")}
	fill := func(dst []byte, with byte) {
		for i := range dst {
			dst[i] = with + byte(i)
		}
	}
	open := &wire.Open{
		Versions: []uint32{1, 300}, Run: "run", Pipeline: "images", From: "list", To: "batch", Copy: 1, Incarnation: 200, Build: "v1",
		Config: []byte{0x81, 0xa1, 'n', 1}, Mode: wire.Stream, Window: 64, Grace: 5 * time.Second, Arena: 64 << 20, Next: 9, Epochs: 1,
		Done: []wire.Span{{Epoch: 1, From: 0, To: 40, Fate: 1}, {Epoch: 1, From: 41, To: 50, Fate: 2}, {Source: 2, From: 3, To: 4}},
		Partial: []wire.Member{
			{Epoch: 1, Index: 40, N: 300, Path: ".0"}, {Epoch: 1, Index: 40, N: 1, Path: ".1.12"},
			{Epoch: 1, Index: 51, N: 1},
		},
		Stop: []wire.Position{{Epoch: 1, Index: 90}, {Source: 2, Index: 5}},
		Box:  64 << 10,
		Suspects: []wire.Suspect{
			{Stage: 3, Epoch: 1, From: 40, To: 51, Deaths: 1}, {Stage: 4, Source: 2, From: 5, To: 6, Exact: true, Deaths: 2},
			{Stage: 4, Epoch: 1, From: 52, To: 60, Exact: true, Path: ".1.12", Deaths: 3, Poison: true},
		},
	}
	fill(open.Fingerprint[:], 1)
	ready := &wire.Ready{Version: 1, Build: "v2"}
	fill(ready.Fingerprint[:], 1)
	fill(ready.Boot[:], 100)
	return []wire.Message{
		open, ready, &wire.Refuse{Code: wire.Full, Text: "8 of 8"},
		&wire.Task{Isolated: true, Items: []wire.Item{
			{ID: 0, Identity: id(0, 0, 0, ""), Payload: of("usual")},
			{ID: 1, Identity: id(0, 0, 1, ""), Payload: of("")},
			{ID: 9, Skip: 4, Attempt: 1, Identity: id(1, 2, 3, ".3.0"), Payload: of("odd", block, block)},
			{ID: 2, Identity: id(1, 2, 3, ".3.1"), Payload: of("again")},
		}, Ends: []wire.EpochEnd{{Epoch: 1, After: 2}}},
		&wire.End{Last: 1000}, &wire.Limit{Frames: 16}, &wire.Drain{}, &wire.Skip{Epoch: 3},
		&wire.Stopped{At: []wire.Position{{Epoch: 1, Index: 90}, {Epoch: 2, Index: 1}}}, &wire.Cancel{Reason: "interrupted"},
		&wire.Result{Entries: []wire.Entry{
			{ID: 0, Outputs: []wire.Output{{Payload: of("usual")}}},
			{ID: 1},
			{ID: 5, Outputs: []wire.Output{{Path: ".0", Payload: of("a")}, {Port: 1, Path: ".1", Payload: of("b", block)}}, Failures: []wire.Failure{failed, hung}},
			{ID: 4, Outputs: []wire.Output{{Port: 2, Payload: of("c")}}},
		}, Finished: []int64{0, 1 << 40}},
		&wire.Part{ID: 5, From: 130, Outputs: []wire.Output{{Path: ".130", Payload: of("p")}}},
		&wire.Frame{
			Seq: 9, Yielded: []wire.Position{{Epoch: 1, Index: 60}},
			Done: []wire.Span{{Epoch: 1, From: 50, To: 51, Fate: 3}, {Epoch: 1, From: 52, To: 60, Fate: 1}},
			Outputs: []wire.FrameOutput{
				{Epoch: 1, Members: []wire.Member{{Epoch: 1, Index: 50, N: 1}}, Payload: of("first")},
				{Epoch: 1, Members: []wire.Member{{Epoch: 1, Index: 51, N: 1}}, Payload: of("usual")},
				{Epoch: 1, Members: []wire.Member{{Epoch: 1, Index: 52, N: 8}, {Epoch: 1, Index: 61, N: 3, Path: ".2"}, {Epoch: 1, Index: 61, N: 1, Path: ".9"}, {Index: math.MaxInt64 - 5, N: 5}}, Path: ".0", Payload: of("batch", block)},
				{Epoch: 1, Sibling: true, Path: ".1", Payload: of("of the same")},
				{Epoch: 2},
				{Epoch: 2, Members: []wire.Member{{Epoch: 1, Index: 70, N: 1, Path: ".1.0"}}, Failed: true},
			},
			Failed: []wire.Failure{failed}, Epochs: []wire.EpochEnd{{Epoch: 0, After: 0}, {Epoch: 1, After: 3}}, Finished: []int64{7},
		},
		&wire.Abort{Error: []byte("gone")}, &wire.Event{Body: []byte{1, 2}}, &wire.Stats{Body: []byte{3}}, &wire.Log{Text: "hello"},
		&wire.Profile{ID: 3, Name: "cpu", For: time.Second, Part: []byte("part"), Last: true},
		&wire.Release{Blocks: []wire.Block{block}}, &wire.Ping{}, &wire.Pong{},
	}
}

// recorded are the messages in testdata, by name.
func recorded(t testing.TB) map[string][]byte {
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		name, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		if all[name], err = hex.DecodeString(digits); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

const golden = "testdata/messages.txt"

var update = flag.Bool("update", false, "write "+golden)

// Two programs of different builds speak to each other: version 1 is these bytes.
func TestTheFormatIsThatOfTheRecordedMessages(t *testing.T) {
	if *update {
		var text strings.Builder
		for _, m := range samples() {
			text.WriteString(name(m) + " " + hex.EncodeToString(wire.Append(nil, m)) + "\n")
		}
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := recorded(t)
	for _, m := range samples() {
		if got, want := wire.Append(nil, m), all[name(m)]; string(got) != string(want) {
			t.Errorf("%s is\n%x, recorded was\n%x", name(m), got, want)
		}
		got, err := wire.Decode(all[name(m)])
		if err != nil {
			t.Error(err)
		} else if !reflect.DeepEqual(got, m) {
			t.Errorf("recorded %s is %+v", name(m), got)
		}
	}
	if len(all) != kinds || len(samples()) != kinds {
		t.Errorf("%d messages are recorded, of %d kinds", len(all), kinds)
	}
}
