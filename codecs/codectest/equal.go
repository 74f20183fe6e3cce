package codectest

import (
	"fmt"
	"reflect"
	"time"
)

// difference returns where want and got differ and how, or "" if they are the same but for what a codec may change.
func difference(want, got any) string {
	return differ(reflect.ValueOf(want), reflect.ValueOf(got), "it")
}

func differ(a, b reflect.Value, at string) string {
	if !a.IsValid() || !b.IsValid() {
		return unequal(at, a, b)
	}
	if a.Type() != b.Type() {
		return fmt.Sprintf("%s: of type %s, want %s", at, b.Type(), a.Type())
	}
	if same, ok := asked(a, b); ok {
		if same {
			return ""
		}
		return unequal(at, a, b)
	}
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		if x, y := a.Float(), b.Float(); x != y && (x == x || y == y) {
			return unequal(at, a, b)
		}
	case reflect.Complex64, reflect.Complex128:
		x, y := a.Complex(), b.Complex()
		if d := differ(reflect.ValueOf(real(x)), reflect.ValueOf(real(y)), "real "+at); d != "" {
			return d
		}
		return differ(reflect.ValueOf(imag(x)), reflect.ValueOf(imag(y)), "imag "+at)
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return unequal(at, a, b)
			}
			return ""
		}
		return differ(a.Elem(), b.Elem(), at)
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: length %d, want %d", at, b.Len(), a.Len())
		}
		for i := range a.Len() {
			if d := differ(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", at, i)); d != "" {
				return d
			}
		}
	case reflect.Map:
		return differMaps(a, b, at)
	case reflect.Struct:
		for i := range a.NumField() {
			if d := differ(a.Field(i), b.Field(i), at+"."+a.Type().Field(i).Name); d != "" {
				return d
			}
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if a.Pointer() != b.Pointer() {
			return unequal(at, a, b)
		}
	default:
		if !a.Equal(b) {
			return unequal(at, a, b)
		}
	}
	return ""
}

func differMaps(a, b reflect.Value, at string) string {
	if a.Len() != b.Len() {
		return fmt.Sprintf("%s: %d entries, want %d", at, b.Len(), a.Len())
	}
	for it := a.MapRange(); it.Next(); {
		other := b.MapIndex(it.Key())
		if !other.IsValid() {
			return fmt.Sprintf("%s: no key %v", at, it.Key())
		}
		if d := differ(it.Value(), other, fmt.Sprintf("%s[%v]", at, it.Key())); d != "" {
			return d
		}
	}
	return ""
}

// asked lets types decide that know better: times, and those with a method Equal. ok is false for all others.
func asked(a, b reflect.Value) (same, ok bool) {
	if !a.CanInterface() || !b.CanInterface() || a.Kind() == reflect.Pointer {
		return false, false
	}
	if x, isTime := a.Interface().(time.Time); isTime {
		y := b.Interface().(time.Time)
		_, east := x.Zone()
		_, got := y.Zone()
		return x.Equal(y) && east == got, true
	}
	m := a.MethodByName("Equal")
	if !m.IsValid() {
		return false, false
	}
	if t := m.Type(); t.NumIn() != 1 || t.In(0) != a.Type() || t.NumOut() != 1 || t.Out(0).Kind() != reflect.Bool {
		return false, false
	}
	return m.Call([]reflect.Value{b})[0].Bool(), true
}

func unequal(at string, want, got reflect.Value) string {
	return fmt.Sprintf("%s: %s, want %s", at, short(got), short(want))
}

func short(v reflect.Value) string {
	s := fmt.Sprint(v)
	if len(s) > 100 {
		return s[:100] + "..."
	}
	return s
}
