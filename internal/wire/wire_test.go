package wire_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/weirflow/weir/internal/wire"
)

func TestEveryMessageArrivesAsItWasSent(t *testing.T) {
	for seed := range uint64(500) {
		d := newDice(seed)
		for k := range kinds {
			m := d.message(k)
			b := wire.Append([]byte("before"), m)
			got, err := wire.Decode(b[6:])
			if err != nil {
				t.Fatalf("seed %d: %T: %v\n%+v", seed, m, err, m)
			}
			if !reflect.DeepEqual(got, m) {
				t.Fatalf("seed %d: sent\n%+v\narrived\n%+v", seed, m, got)
			}
			if again := wire.Append(nil, got); !bytes.Equal(again, b[6:]) {
				t.Fatalf("seed %d: %T: %x became %x", seed, m, b[6:], again)
			}
		}
	}
}
