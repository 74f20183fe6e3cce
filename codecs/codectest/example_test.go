package codectest_test

import (
	"testing"

	"github.com/weirflow/weir/codecs/codectest"
	"github.com/weirflow/weir/codecs/raw"
)

// A codec's test: run it over samples of what it carries.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestCodec(t *testing.T)
		codectest.Run(t, raw.Codec{}, []byte("as it is"), "a string")
	}
	// Output:
}

// A codec's fuzz target.
func ExampleFuzz() {
	_ = func(f *testing.F) { // func FuzzDecode(f *testing.F)
		codectest.Fuzz(f, raw.Codec{}, []byte("as it is"), "a string")
	}
	// Output:
}
