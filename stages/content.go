package stages

import (
	"crypto/sha256"
	"fmt"
	"reflect"

	"github.com/weirflow/weir/codecs/msgpack"
)

// contentOf describes a slice so that it can be compared with what it is in another process: by its length, and by a sum of
// its elements, if they can be encoded. A package variable that main fills is empty where main does not get that far, and
// nothing else would tell: the run would come to its end, without a single item.
func contentOf[T any](s []T) string {
	sum, ok := contentSum(s)
	if !ok {
		return fmt.Sprintf("a slice of %d", len(s))
	}
	return fmt.Sprintf("a slice of %d (sha256 %x)", len(s), sum[:8])
}

// Elements are encoded so many at a time that neither the cost of a call matters nor what large ones take together.
const (
	mostTogether  = 4096
	fewBytes      = 64 << 10
	manyBytes     = 1 << 20
	firstTogether = 1
)

// contentSum hashes what msgpack makes of the elements, since it makes the same of equal values. It runs user code: of
// types that encode themselves.
func contentSum[T any](s []T) (sum [sha256.Size]byte, ok bool) {
	codec := &msgpack.Codec{}
	if len(s) == 0 || codec.Check(reflect.TypeFor[[]T]()) != nil {
		return sum, false
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	h := sha256.New()
	var buf []byte
	for n := firstTogether; len(s) > 0; {
		n = min(n, len(s))
		var err error
		if buf, err = codec.Append(buf[:0], s[:n]); err != nil {
			return sum, false
		}
		h.Write(buf)
		s = s[n:]
		switch { // depends on what is encoded only, so that every process takes the same steps
		case len(buf) < fewBytes:
			n = min(2*n, mostTogether)
		case len(buf) > manyBytes:
			n = max(n/2, 1)
		}
	}
	h.Sum(sum[:0])
	return sum, true
}
