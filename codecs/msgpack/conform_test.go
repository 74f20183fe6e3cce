package msgpack_test

import (
	"testing"

	"github.com/weirflow/weir/codecs/codectest"
	"github.com/weirflow/weir/codecs/msgpack"
)

func TestCodec(t *testing.T) { codectest.Run(t, new(msgpack.Codec)) }
