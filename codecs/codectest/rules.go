package codectest

import (
	"bytes"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/weirflow/weir/codecs"
)

// A rule is one clause of the contract. hold reports what breaks it, and takes a testing.TB so that it can be tested
// with codecs that do.
type rule struct {
	name string
	hold func(tb testing.TB, c codecs.Codec, samples []any)
}

func rules() []rule {
	return []rule{
		{"its name stays the same", nameStays},
		{"it refuses what cannot travel", refusesTheImpossible},
		{"it accepts the samples", acceptsSamples},
		{"values survive the round trip", roundTrips},
		{"append extends what it is given", appendExtends},
		{"append keeps nothing of the value", appendKeepsNothing},
		{"decode keeps nothing of the source", decodeKeepsNothing},
		{"damaged input does no harm", survivesDamage},
		{"many goroutines may use it", concurrentUse},
	}
}

func nameStays(tb testing.TB, c codecs.Codec, _ []any) {
	if a, b := c.Name(), c.Name(); a == "" || a != b {
		tb.Errorf("names %q and %q", a, b)
	}
}

func refusesTheImpossible(tb testing.TB, c codecs.Codec, _ []any) {
	for _, t := range impossible() {
		if err := c.Check(t); !errors.Is(err, codecs.ErrNotEncodable) {
			tb.Errorf("check %s: %v, want codecs.ErrNotEncodable", t, err)
		}
	}
}

func acceptsSamples(tb testing.TB, c codecs.Codec, samples []any) {
	for _, s := range samples {
		if s == nil {
			tb.Errorf("a sample is nil, which is of no type")
		} else if err := c.Check(reflect.TypeOf(s)); err != nil {
			tb.Errorf("check %T: %v", s, err)
		}
	}
	for _, v := range hardValues() {
		if err := c.Check(reflect.TypeOf(v)); err != nil && !errors.Is(err, codecs.ErrNotEncodable) {
			tb.Errorf("check %T: %v, which is not codecs.ErrNotEncodable", v, err)
		}
	}
	if len(carried(c, samples)) == 0 {
		tb.Errorf("nothing to test with: no samples, and it carries none of the suite's own values")
	}
}

// carried returns the values that c says it carries.
func carried(c codecs.Codec, samples []any) []any {
	var vs []any
	for _, v := range append(hardValues(), samples...) {
		if v != nil && c.Check(reflect.TypeOf(v)) == nil {
			vs = append(vs, v)
		}
	}
	return vs
}

func roundTrips(tb testing.TB, c codecs.Codec, samples []any) {
	for _, v := range carried(c, samples) {
		src, err := encode(c, nil, v)
		if err != nil {
			tb.Errorf("check accepts %T, append does not: %v: %.200v", v, err, v)
			continue
		}
		got, err := decode(c, src, v)
		if err != nil {
			tb.Errorf("decode its own %T: %v: %.200v", v, err, v)
			continue
		}
		if diff := difference(v, got); diff != "" {
			tb.Errorf("%T came back changed: %s", v, diff)
		}
	}
}

func appendExtends(tb testing.TB, c codecs.Codec, samples []any) {
	const prefix = "what stands before"
	for _, v := range carried(c, samples) {
		for _, spare := range []int{0, 1, 1 << 12} {
			dst := append(make([]byte, 0, len(prefix)+spare), prefix...)
			out, err := encode(c, dst, v)
			if err != nil {
				continue // that is another rule's
			}
			if !bytes.HasPrefix(out, []byte(prefix)) || string(dst) != prefix {
				tb.Errorf("append of %T does not keep what dst held", v)
				break
			}
			if got, err := decode(c, out[len(prefix):], v); err != nil || difference(v, got) != "" {
				tb.Errorf("%T appended to something is not decoded: %v", v, err)
				break
			}
		}
	}
}

func appendKeepsNothing(tb testing.TB, c codecs.Codec, samples []any) {
	for _, v := range carried(c, samples) {
		src, err := encode(c, nil, v)
		if err != nil {
			continue
		}
		own, err := decode(c, bytes.Clone(src), v) // a copy that may be spoilt; samples are the caller's
		if err != nil {
			continue
		}
		out, err := encode(c, nil, own)
		if err != nil {
			continue
		}
		before := bytes.Clone(out)
		p := reflect.New(reflect.TypeOf(own)).Elem()
		p.Set(reflect.ValueOf(own))
		spoil(p)
		if !bytes.Equal(before, out) {
			tb.Errorf("the encoding of %T changes with the value: append kept it", v)
		}
	}
}

func decodeKeepsNothing(tb testing.TB, c codecs.Codec, samples []any) {
	for _, v := range carried(c, samples) {
		src, err := encode(c, nil, v)
		if err != nil {
			continue
		}
		before := bytes.Clone(src)
		got, err := decode(c, src, v)
		if err != nil {
			continue
		}
		if !bytes.Equal(before, src) {
			tb.Errorf("decode of %T writes to the source", v)
		}
		first := difference(v, got)
		scribble(src)
		if diff := difference(v, got); diff != first {
			tb.Errorf("a decoded %T changes with the source: %s", v, diff)
		}
	}
}

func concurrentUse(tb testing.TB, c codecs.Codec, samples []any) {
	values := carried(c, samples)
	var wg sync.WaitGroup
	for worker := range 8 {
		// Owner: this rule. Ends when it has been through the values. Wait below waits for it.
		wg.Go(func() {
			for i := range values {
				v := values[(i+worker)%len(values)]
				src, err := encode(c, nil, v)
				if err != nil {
					continue
				}
				if got, err := decode(c, src, v); err != nil || difference(v, got) != "" {
					tb.Errorf("%T while others do the same: %v", v, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
