package stages_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// An ouroboros unwraps to itself.
type ouroboros struct{}

func (e ouroboros) Error() string { return "again" }
func (e ouroboros) Unwrap() error { return e }

// A tree of these has no end, and two branches everywhere.
type bush struct{ text string }

func (e bush) Error() string   { return e.text }
func (e bush) Unwrap() []error { return []error{e, nil, e} }

// A mine explodes when its method of some name is called.
type mine struct{ method string }

func (e *mine) step(method string) {
	switch e.method {
	case method:
		panic("boom in " + method)
	case method + " ends":
		runtime.Goexit()
	}
}

func (e *mine) Error() string   { e.step("Error"); return "a mine" }
func (e *mine) Is(error) bool   { e.step("Is"); return false }
func (e *mine) As(any) bool     { e.step("As"); return false }
func (e *mine) Timeout() bool   { e.step("Timeout"); return false }
func (e *mine) Temporary() bool { return false }
func (e *mine) Unwrap() error   { e.step("Unwrap"); return errCorrupt }

const limit = 64 << 10

func travel(t *testing.T, g *plan.Graph, err error) error {
	t.Helper()
	b := stages.EncodeError(g, err)
	if len(b) == 0 || len(b) > limit {
		t.Errorf("%d bytes", len(b))
	}
	return stages.DecodeError(g, b)
}

func TestErrorsOfUserCodeAreSurvived(t *testing.T) {
	g := travelled(t)
	for _, method := range []string{"Error", "Is", "As", "Timeout", "Unwrap"} {
		t.Run(method, func(t *testing.T) {
			got := travel(t, g, fmt.Errorf("x: %w", errors.Join(&mine{method}, io.EOF)))
			if !errors.Is(got, io.EOF) || method != "Unwrap" && !errors.Is(got, errCorrupt) {
				t.Errorf("got %v", got)
			}
		})
		t.Run(method+" ends", func(t *testing.T) {
			got := travel(t, g, &mine{method + " ends"})
			if want := "a *stages_test.mine whose methods do not return"; got.Error() != want {
				t.Errorf("got %v, want %s", got, want)
			}
		})
	}
	var none *stages.ItemError
	if got := travel(t, g, none); !strings.Contains(got.Error(), "a *stages.ItemError whose methods panic") {
		t.Errorf("got %v", got)
	}
	for _, e := range []*fs.PathError{{Op: "open", Path: "x"}, nil} {
		if got := travel(t, g, e); !strings.Contains(got.Error(), "a *fs.PathError whose methods panic") {
			t.Errorf("got %v", got)
		}
	}
}

func TestErrorsWithoutEndAreCut(t *testing.T) {
	g := travelled(t)
	if got := travel(t, g, ouroboros{}); got.Error() != "again" {
		t.Errorf("got %v", got)
	}
	if got := travel(t, g, bush{"leaves"}); got.Error() != "leaves" {
		t.Errorf("got %v", got)
	}
	if got := travel(t, g, bush{strings.Repeat("leaves", 1000)}); !strings.HasPrefix(got.Error(), "leavesleaves") {
		t.Errorf("got %.100s", got)
	}
	long := strings.Repeat("é", 100_000)
	got := travel(t, g, fmt.Errorf("%s: %w", long, io.EOF))
	if want := " bytes more)"; !strings.HasPrefix(got.Error(), long[:1000]) || !strings.HasSuffix(got.Error(), want) || !errors.Is(got, io.EOF) {
		t.Errorf("got %d bytes", len(got.Error()))
	}
	stack := &stages.PanicError{Stage: "s", Value: long, Stack: long}
	if got := travel(t, g, stack); as[*stages.PanicError](got) == "none" {
		t.Errorf("got %d bytes", len(got.Error()))
	}
}

// Sentinels are found behind what has no room.
func TestNothingIsLostOfManyErrors(t *testing.T) {
	g := travelled(t)
	var all []error
	for i := range 1000 {
		all = append(all, fmt.Errorf("%d: %s", i, strings.Repeat("x", 60)))
	}
	all = append(all, fmt.Errorf("x: %w", stages.Fatal(&pageError{1, 2})), errCorrupt)
	got := travel(t, g, errors.Join(all...))
	if !errors.Is(got, stages.ErrFatal) || !errors.Is(got, errCorrupt) || as[*pageError](got) == "none" || errors.Is(got, errStale) {
		t.Errorf("got %d bytes", len(got.Error()))
	}
	deep := error(context.Canceled)
	for range 300 {
		deep = fmt.Errorf("d: %w", deep)
	}
	if got := travel(t, g, deep); !errors.Is(got, context.Canceled) || got.Error() != deep.Error() {
		t.Errorf("got %v", got)
	}
}

// What comes from a stranger cannot speak to a terminal, wherever it is put.
func TestControlCharactersAreEscaped(t *testing.T) {
	g := travelled(t)
	bad := "\x1b[2J\x07\xff"
	for _, err := range []error{errors.New(bad), &fs.PathError{Op: bad, Path: bad, Err: errors.New(bad)}, &stages.PanicError{Stage: bad, Value: bad, Stack: bad},
		&stages.ItemError{Stage: bad, Item: stages.ID{Source: bad, Path: bad}, Err: io.EOF}} {
		got := travel(t, g, err)
		if said := fmt.Sprintf("%v %s", got, texts(got)); strings.ContainsAny(said, "\x1b\x07") || strings.Contains(said, "\xff") || !strings.Contains(said, `\x1b[2J\a\xff`) {
			t.Errorf("got %q", said)
		}
		if p, ok := errors.AsType[*stages.PanicError](got); ok && strings.Contains(p.Stack+p.Value, "\x1b") {
			t.Errorf("got %q", p)
		}
	}
}

func TestBytesThatAreNoErrorAreTold(t *testing.T) {
	g := travelled(t)
	good := stages.EncodeError(g, errors.Join(io.EOF, errCorrupt))
	for name, b := range map[string][]byte{
		"nothing": nil, "cut": good[:len(good)-1], "more": append(append([]byte{}, good...), 0), "garbage": []byte("garbage"),
		"too many": make([]byte, limit+1), "a bomb": {0xdd, 0xff, 0xff, 0xff, 0xff},
	} {
		if err := stages.DecodeError(g, b); err == nil || !strings.HasPrefix(err.Error(), "an error has come from another process that cannot be decoded: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Places and types that a stranger names need not be there.
func FuzzDecodeError(f *testing.F) {
	g := travelled(f)
	for _, err := range samples() {
		f.Add(stages.EncodeError(g, err))
	}
	type value struct {
		Type uint16
		Data []byte
	}
	type node struct {
		Parent       int
		Form         uint8
		Text         string
		Many         bool
		Net          uint8
		Known, Named []uint16
		Values       []value
		Texts        []string
		Counts       []int64
	}
	type tree struct {
		System string
		Nodes  []node
	}
	for i := range 32 {
		n := node{Parent: -1, Form: uint8(i), Text: "x", Known: []uint16{999}, Named: []uint16{9}, Values: []value{{9, nil}, {0, []byte{0xc0}}}, Net: 7}
		b, err := new(msgpack.Codec).Append(nil, tree{runtime.GOOS, []node{n, {Form: uint8(i), Text: "y"}, {Parent: 1, Form: uint8(i)}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := stages.DecodeError(g, b)
		if err == nil {
			t.Fatal("no error")
		}
		for i, text := range append(texts(err), fmt.Sprintf("%+v", err)) {
			if strings.ContainsAny(text, "\x1b\x00\x07\x7f") {
				t.Errorf("error %d says %q", i, text)
			}
		}
		_ = errors.Is(err, errCorrupt)
		_ = as[*fs.PathError](err)
		again := stages.DecodeError(g, stages.EncodeError(g, err))
		if len(err.Error()) < 400 && again.Error() != err.Error() {
			t.Errorf("it says %q, and then %q", err, again)
		}
	})
}
