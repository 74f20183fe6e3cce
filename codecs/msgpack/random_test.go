package msgpack

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

// TestCheckTellsTheTruth makes random types, of which Check must refuse exactly those with something in them that
// cannot travel, and random values of the others, which must come back the same to the last nil.
func TestCheckTellsTheTruth(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := &random{rand.New(rand.NewPCG(seed, 0))}
	types := 1500
	if testing.Short() {
		types = 150
	}
	accepted := 0
	for range types {
		var c Codec
		rtype, travels := r.typ(4)
		err := c.Check(rtype)
		if (err == nil) != travels {
			t.Fatalf("check %s: %v, want travels = %v", rtype, err, travels)
		}
		if err != nil {
			continue
		}
		accepted++
		for range 8 {
			in := r.value(rtype, 3)
			src, err := c.Append(nil, in.Interface())
			if err != nil {
				t.Fatalf("append %s: %v: %v", rtype, err, in)
			}
			out := reflect.New(rtype)
			if err := c.Decode(src, out.Interface()); err != nil {
				t.Fatalf("decode %s: %v: % x", rtype, err, src)
			}
			if !reflect.DeepEqual(in.Interface(), out.Elem().Interface()) {
				t.Fatalf("%s\nwent as   %+v\ncame back %+v", rtype, in, out.Elem())
			}
			if p, _ := c.plan(rtype); uint64(len(src)) < p.minBytes {
				t.Fatalf("%s: %d bytes, its least is %d", rtype, len(src), p.minBytes)
			}
			again, err := c.Append(nil, out.Elem().Interface())
			if err != nil || string(again) != string(src) {
				t.Fatalf("%s: % x, then % x, %v", rtype, src, again, err)
			}
		}
	}
	if accepted < types/4 || accepted == types {
		t.Errorf("%d of %d types are accepted: the generator is lopsided", accepted, types)
	}
}

type random struct{ *rand.Rand }

var scalars = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](),
	reflect.TypeFor[int64](), reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](),
	reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[complex64](),
	reflect.TypeFor[string](), reflect.TypeFor[time.Duration](), reflect.TypeFor[netip.Addr](), reflect.TypeFor[packed](),
}

var refusedTypes = []reflect.Type{
	reflect.TypeFor[any](), reflect.TypeFor[error](), reflect.TypeFor[chan int](), reflect.TypeFor[func()](), reflect.TypeFor[uintptr](),
	reflect.TypeFor[guarded](), reflect.TypeFor[map[*int]bool](), reflect.TypeFor[map[any]bool](),
}

func (r *random) typ(depth int) (t reflect.Type, travels bool) {
	if depth == 0 || r.IntN(4) == 0 {
		switch r.IntN(30) {
		case 0:
			return refusedTypes[r.IntN(len(refusedTypes))], false
		case 1:
			return reflect.TypeFor[time.Time](), true
		case 2:
			return reflect.TypeFor[linked](), true
		}
		return scalars[r.IntN(len(scalars))], true
	}
	switch r.IntN(6) {
	case 0:
		t, travels = r.typ(depth - 1)
		return reflect.PointerTo(t), travels
	case 1:
		t, travels = r.typ(depth - 1)
		return reflect.SliceOf(t), travels
	case 2:
		t, travels = r.typ(depth - 1)
		return reflect.ArrayOf(r.IntN(4)+1, t), travels
	case 3:
		t, travels = r.typ(depth - 1)
		key := scalars[r.IntN(len(scalars))]
		if r.IntN(2) == 0 {
			key = reflect.ArrayOf(2, key)
		}
		return reflect.MapOf(key, t), travels
	default:
		travels = true
		var fields []reflect.StructField
		for i := range r.IntN(5) {
			ft, ok := r.typ(depth - 1)
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: ft})
			travels = travels && ok
		}
		return reflect.StructOf(fields), travels
	}
}

func (r *random) value(t reflect.Type, size int) reflect.Value {
	v := reflect.New(t).Elem()
	r.fill(v, size)
	return v
}

func (r *random) fill(v reflect.Value, size int) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Unix(int64(r.Uint64())>>r.IntN(64), int64(r.IntN(1e9)))
		switch r.IntN(3) {
		case 0:
			*p = p.UTC()
		case 1:
			*p = p.In(time.FixedZone("", r.IntN(86400)-43200))
			if _, local := time.Unix(p.Unix(), 0).Zone(); local == offset(*p) {
				*p = p.Local() // as it comes back
			}
		}
		return
	case *netip.Addr:
		*p = netip.AddrFrom4([4]byte{byte(r.IntN(256)), 1, 2, 3})
		return
	case *packed:
		*p = packed{uint16(r.IntN(3)), uint16(r.IntN(1 << 16))}
		return
	case *linked:
		if r.IntN(3) > 0 {
			p.Next = &linked{}
		}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		v.SetString(string(b))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(r.NormFloat64())))
	case reflect.Complex64:
		v.SetComplex(complex(float64(float32(r.NormFloat64())), 1))
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(r.value(v.Type().Elem(), size).Addr())
		}
	case reflect.Slice:
		if r.IntN(4) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), r.IntN(size+1), 8))
			r.elements(v, size)
		}
	case reflect.Array:
		r.elements(v, size)
	case reflect.Map:
		if r.IntN(4) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range r.IntN(size + 1) {
				v.SetMapIndex(r.value(v.Type().Key(), size), r.value(v.Type().Elem(), size))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			r.fill(v.Field(i), size)
		}
	default:
		if v.CanInt() {
			v.SetInt(int64(r.Uint64()) >> r.IntN(64))
		} else {
			v.SetUint(r.Uint64() >> r.IntN(64))
		}
	}
}

func (r *random) elements(v reflect.Value, size int) {
	for i := range v.Len() {
		r.fill(v.Index(i), size-1)
	}
}

func offset(t time.Time) int {
	_, east := t.Zone()
	return east
}
