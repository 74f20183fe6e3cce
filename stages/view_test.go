package stages_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/stages"
)

func TestAViewShowsNothingAfterItsRelease(t *testing.T) {
	v := stages.ViewOf([]byte("pixels"))
	same := v
	if string(v.Bytes()) != "pixels" || string(same.Bytes()) != "pixels" {
		t.Errorf("got %q", v.Bytes())
	}
	v.Release()
	v.Release()
	same.Release()
	defer func() {
		if err, ok := recover().(error); !ok || err.Error() != "stages: a View was used after its Release" {
			t.Errorf("got %v", err)
		}
	}()
	t.Errorf("got %q", same.Bytes())
}

func TestTheZeroViewIsEmpty(t *testing.T) {
	var v stages.View
	v.Release()
	if len(v.Bytes()) != 0 {
		t.Errorf("got %q", v.Bytes())
	}
	v.Release()
}

// A View inside of something else is copied, both ways.
func TestAViewInsideOfAValueIsCopied(t *testing.T) {
	type frame struct {
		Camera int
		Pixels stages.View
	}
	c := new(msgpack.Codec)
	if err := codecs.Of[frame]().Check(c); err != nil {
		t.Fatal(err)
	}
	pixels := []byte("pixels")
	v := frame{3, stages.ViewOf(pixels)}
	src, err := c.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	var got frame
	if err := c.Decode(src, &got); err != nil {
		t.Fatal(err)
	}
	v.Pixels.Release()
	clear(pixels)
	clear(src)
	if got.Camera != 3 || string(got.Pixels.Bytes()) != "pixels" {
		t.Errorf("got %d, %q", got.Camera, got.Pixels.Bytes())
	}
	if _, err := c.Append(nil, v); err == nil {
		t.Error("a released View was encoded")
	}
	if err := new(stages.View).Join([]byte("x"), nil); err == nil {
		t.Error("a View with a head")
	}
}

func TestAViewIsBulk(t *testing.T) {
	var b codecs.Bulk = new(stages.View)
	if err := b.Join(nil, []byte("block")); err != nil {
		t.Fatal(err)
	}
	if head, block, err := b.Split(); err != nil || len(head) != 0 || !bytes.Equal(block, []byte("block")) {
		t.Errorf("got %q, %q, %v", head, block, err)
	}
	if reflect.TypeFor[stages.View]().NumMethod() != 2 {
		t.Error("Split and Join belong to the pointer")
	}
}
