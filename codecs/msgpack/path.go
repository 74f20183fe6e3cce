package msgpack

import (
	"fmt"
	"reflect"

	"github.com/weirflow/weir/codecs"
)

// A path leads from the type that Check was asked about to a part of it, as in "Config.Filters[].Match".
type path struct {
	root  string
	outer int // slices, arrays and maps that root names already: []Config is followed by .Filters, not by [].Filters
	rest  string
}

func (p path) field(name string) path { return path{p.root, 0, p.rest + "." + name} }

func (p path) elem(mark string) path {
	if p.outer > 0 && mark == "[]" {
		return path{p.root, p.outer - 1, p.rest}
	}
	return path{p.root, 0, p.rest + mark}
}

func (p path) String() string { return p.root + p.rest }

// from returns the path to t itself, which it names without its package: "Config", "[]Config", "map[string]Config".
func from(t reflect.Type) path {
	p := path{}
	for t.Name() == "" {
		switch t.Kind() {
		case reflect.Pointer:
		case reflect.Slice:
			p.root += "[]"
			p.outer++
		case reflect.Array:
			p.root += fmt.Sprintf("[%d]", t.Len())
			p.outer++
		case reflect.Map:
			p.root += "map[" + t.Key().String() + "]"
			p.outer++
		default:
			p.root += t.String()
			return p
		}
		t = t.Elem()
	}
	p.root += t.Name()
	return p
}

func refused(at path, what string) error {
	return fmt.Errorf("%w: %s: %s", codecs.ErrNotEncodable, at, what)
}
