package arena_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/link/arena"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// session is both ends of a link with an arena, in one process.
type session struct {
	w   *arena.Writer
	r   *arena.Reader
	in  *payload.Unpacker
	out *payload.Packer
}

func connect(t *testing.T, size uint64) session {
	t.Helper()
	w, err := arena.NewWriter(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	r, err := arena.OpenReader(w.File(), size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	c := new(msgpack.Codec)
	return session{w, r, payload.NewUnpacker(c, r), payload.NewPacker(c, w)}
}

// told is the RELEASE that the reading end sends.
func (s session) told(t *testing.T) {
	t.Helper()
	for _, b := range s.r.Returned(nil) {
		if err := s.w.Free(b); err != nil {
			t.Error(err)
		}
	}
}

func (s session) checkEmpty(t *testing.T) {
	t.Helper()
	s.told(t)
	if out, shown := s.w.Usage(), s.r.Usage(); out.Blocks != 0 || out.Bytes != 0 || shown.Blocks != 0 {
		t.Errorf("still out: %+v, shown: %+v", out, shown)
	}
}

// sent is what a chunk of v is at the other end.
func sent[T any](t *testing.T, s session, v ...T) *plan.Of[T] {
	t.Helper()
	pool := plan.NewPool[T]()
	from, to := pool.Of(len(v)), pool.Of(len(v))
	from.Items = append(from.Items, v...)
	for i := range v {
		p, err := from.Pack(s.out, i)
		if err != nil {
			t.Fatal(err)
		}
		if err := to.Unpack(s.in, p); err != nil {
			t.Fatal(err)
		}
	}
	s.out.Reset()
	return to
}

func noise(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(i*i/5)
	}
	return b
}

func TestAChunkComesThroughAnArena(t *testing.T) {
	s := connect(t, 1<<20)
	got := sent(t, s, noise(100_000, 1), noise(10, 2), noise(900_000, 3), noise(900_000, 4)).Items
	for i, n := range []int{100_000, 10, 900_000, 900_000} {
		if !bytes.Equal(got[i], noise(n, byte(i+1))) {
			t.Errorf("item %d is another", i)
		}
	}
	if s.out.Inline() != 1 || s.w.Usage().Full != 1 { // the last one: the writer has not heard of the releases yet
		t.Errorf("%d inline, %+v", s.out.Inline(), s.w.Usage())
	}
	s.checkEmpty(t)
}

func TestAViewShowsWhatLiesInTheArena(t *testing.T) {
	s := connect(t, 1<<20)
	got := sent(t, s, stages.ViewOf(noise(100_000, 1)), stages.ViewOf(noise(10, 2)), stages.View{}, stages.ViewOf(noise(900_000, 4)))
	if u := s.r.Usage(); u.Blocks != 2 {
		t.Errorf("%+v", u)
	}
	if n := got.Bytes(); n != 1_000_010 {
		t.Errorf("%d bytes", n)
	}
	for i, n := range []int{100_000, 10, 0, 900_000} {
		if v := got.Items[i]; !bytes.Equal(v.Bytes(), noise(n, byte(i+1))) {
			t.Errorf("item %d is another", i)
		}
	}
	s.told(t)
	if u := s.w.Usage(); u.Blocks != 2 {
		t.Errorf("given back while it is shown: %+v", u)
	}
	for i, v := range got.Items {
		v.Release()
		v.Release()
		got.Lent(i).Release()
	}
	s.checkEmpty(t)
}

func TestAViewOutlivesItsSession(t *testing.T) {
	s := connect(t, 1<<20)
	v := sent(t, s, stages.ViewOf(noise(100_000, 7))).Items[0]
	s.w.Close()
	s.r.Close()
	if !bytes.Equal(v.Bytes(), noise(100_000, 7)) {
		t.Error("another block")
	}
	v.Release()
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, payload.ErrReleased) {
			t.Errorf("got %v", err)
		}
	}()
	t.Errorf("got %d bytes", len(v.Bytes()))
}

// A View goes from one session to the next as a copy, and is still whose it was.
func TestAViewIsSentOn(t *testing.T) {
	first, second := connect(t, 1<<20), connect(t, 1<<20)
	v := sent(t, first, stages.ViewOf(noise(100_000, 1))).Items[0]
	on := sent(t, second, v).Items[0]
	v.Release()
	first.checkEmpty(t)
	if !bytes.Equal(on.Bytes(), noise(100_000, 1)) {
		t.Error("another block")
	}
	on.Release()
	second.checkEmpty(t)
	chunk := plan.NewPool[stages.View]().Of(1)
	chunk.Items = append(chunk.Items, v)
	if _, err := chunk.Pack(second.out, 0); !errors.Is(err, payload.ErrReleased) {
		t.Errorf("a released View: %v", err)
	}
}

// Views may be packed and released at the same time: no block is given back while it is copied.
func TestAViewIsNotGivenBackWhileItIsCopied(t *testing.T) {
	s, on := connect(t, 4<<20), connect(t, 4<<20)
	want := noise(1<<20, 1)
	for range 20 {
		v := sent(t, s, stages.ViewOf(want)).Items[0]
		var both sync.WaitGroup
		both.Go(v.Release)
		chunk := plan.NewPool[stages.View]().Of(1)
		chunk.Items = append(chunk.Items, v)
		p, err := chunk.Pack(on.out, 0)
		both.Wait()
		switch {
		case err == nil:
			if err := chunk.Unpack(on.in, p); err != nil || !bytes.Equal(chunk.Items[1].Bytes(), want) {
				t.Fatal("another block", err)
			}
			chunk.Items[1].Release()
		case !errors.Is(err, payload.ErrReleased):
			t.Fatal(err)
		}
		on.out.Reset()
		s.checkEmpty(t)
		on.checkEmpty(t)
	}
}

// What user code has never seen is given back when nobody refers to it; of the rest there may be slices.
// What was looked at and forgotten stays mapped for as long as the process lives, and other tests count mappings: so this one has a
// process of its own.
func TestForgottenViewsAreCounted(t *testing.T) {
	if os.Getenv("WEIR_TEST_FORGETS") == "" {
		alone := exec.Command("/proc/self/exe", "-test.run=^TestForgottenViewsAreCounted$")
		alone.Env = append(os.Environ(), "WEIR_TEST_FORGETS=1")
		if out, err := alone.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	s := connect(t, 1<<20)
	forget := func(look int) {
		got := sent(t, s, stages.ViewOf(noise(20_000, 1)), stages.ViewOf(noise(20_000, 2)), stages.ViewOf(noise(20_000, 3)))
		for _, v := range got.Items[:look] {
			if len(v.Bytes()) != 20_000 {
				t.Error("another block")
			}
		}
		got.Items[2].Release()
		got.Free()
	}
	forget(1)
	for s.in.Dropped() < 1 || s.in.Lost() < 1 {
		runtime.GC()
	}
	s.told(t)
	if u := s.w.Usage(); s.in.Dropped() != 1 || s.in.Lost() != 1 || u.Blocks != 1 {
		t.Errorf("%d given back, %d lost, %+v", s.in.Dropped(), s.in.Lost(), u)
	}
}

type grenade struct{ data []byte }

func (g *grenade) Split() (head, block []byte, err error) {
	if g.data == nil {
		panic("split")
	}
	return nil, g.data, nil
}

func (*grenade) Join(_, _ []byte) error { panic("join") }

func TestAPanicOfUserCodeIsAnError(t *testing.T) {
	s := connect(t, 1<<20)
	chunk := plan.NewPool[grenade]().Of(4)
	chunk.Items = append(chunk.Items, grenade{}, grenade{noise(20_000, 1)})
	if _, err := chunk.Pack(s.out, 0); err == nil {
		t.Error("split")
	}
	p, err := chunk.Pack(s.out, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := chunk.Unpack(s.in, p); err == nil || chunk.Len() != 2 {
		t.Errorf("%v, %d items", err, chunk.Len())
	}
	s.checkEmpty(t)
	if err := chunk.Unpack(s.in, wire.Payload{Blocks: []wire.Block{{Offset: 1, Length: 1, Generation: 1}}}); !errors.Is(err, arena.ErrOutside) || chunk.Len() != 2 {
		t.Errorf("%v, %d items", err, chunk.Len())
	}
}
