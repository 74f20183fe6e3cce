package codectest

import (
	"testing"

	"github.com/weirflow/weir/codecs"
)

// Run tests c: round trips of samples and of a fixed set of hard values, no aliasing of the source, no panic and no
// large allocation on damaged input, and that Check tells the truth about every sample's type. Each sample is
// encoded, decoded into a new value of its own type and compared.
//
// Of the hard values, c need carry only those whose type its Check accepts. It must refuse what no codec can carry,
// such as functions, channels and unexported fields.
func Run(t *testing.T, c codecs.Codec, samples ...any) {
	t.Helper()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) { r.hold(t, c, samples) })
	}
}

// Fuzz runs a fuzz target over Decode, seeded with the encodings of samples: no input may make Decode panic, allocate
// out of proportion, write to the source or keep it, and what it does decode must survive another round trip. The
// target's arguments are the index of the sample of whose type a value is decoded, modulo their number, and the bytes.
func Fuzz(f *testing.F, c codecs.Codec, samples ...any) {
	f.Helper()
	if len(samples) == 0 || len(samples) > 256 {
		f.Fatalf("%d samples, want 1 to 256: their types are what the bytes are decoded into", len(samples))
	}
	for i, s := range samples {
		src, err := encode(c, nil, s)
		if err != nil {
			f.Fatalf("encode sample %d, %T: %v", i, s, err)
		}
		f.Add(uint8(i), src)
		f.Add(uint8(i), src[:len(src)/2])
	}
	f.Fuzz(func(t *testing.T, which uint8, src []byte) {
		fuzzOne(t, c, samples[int(which)%len(samples)], src)
	})
}
