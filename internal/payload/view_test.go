package payload_test

import (
	"bytes"
	"testing"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// meanwhile is an arena into which something is copied while something else happens.
type meanwhile struct {
	*store
	do func()
}

func (m meanwhile) Put(b []byte) (wire.Block, bool) {
	m.do()
	return m.store.Put(b)
}

func TestAReleaseWaitsForACopy(t *testing.T) {
	from, to := newStore(1<<20), newStore(1<<20)
	e, f := between(from), payload.For[stages.View]()
	v := stages.ViewOf(noise(20_000))
	p, err := f.Pack(e.Packer, &v)
	if err != nil {
		t.Fatal(err)
	}
	var got, on stages.View
	if err := f.Unpack(e.Unpacker, p, &got); err != nil {
		t.Fatal(err)
	}
	c := new(msgpack.Codec)
	if p, err = f.Pack(payload.NewPacker(c, meanwhile{to, got.Release}), &got); err != nil {
		t.Fatal(err)
	}
	from.checkEmpty(t)
	if err := f.Unpack(payload.NewUnpacker(c, to), p, &on); err != nil || !bytes.Equal(on.Bytes(), noise(20_000)) {
		t.Errorf("another block, %v", err)
	}
	on.Release()
	to.checkEmpty(t)
}
