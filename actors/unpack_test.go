package actors

import "testing"

func TestPathsAreInOrder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{".0", ".1", true}, {".1", ".0", false}, {".9", ".10", true}, {".10", ".9", false}, {".1", ".1", false},
		{".1", ".1.0", false}, {".1.0", ".1", false}, {".0.7", ".1", true}, {".1.2", ".1.10", true}, {"", ".1", false}, {".1", "", false}, {"", "", false},
	} {
		if got := isBefore(c.a, c.b); got != c.want {
			t.Errorf("%q before %q: %v", c.a, c.b, got)
		}
	}
}
