package msgpack

import (
	"fmt"
	"reflect"

	"github.com/weirflow/weir/internal/self"
)

// structForm is an array of the fields in order. See docs/decisions/0003 for why not a map of their names.
type structForm struct{ fields []fieldForm }

type fieldForm struct {
	*plan
	index int
	name  string
}

func (c compiler) structure(p *plan, t reflect.Type, at path) error {
	form := &structForm{}
	p.form = form
	p.minDepth = 1
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Name == "_" || field.Type.Size() == 0 {
			continue // nobody can put anything there
		}
		to := at.field(field.Name)
		if !field.IsExported() && !transparent(field) {
			return refused(to, unexported(t, field))
		}
		f, err := c.plan(field.Type, to)
		if err != nil {
			return err
		}
		form.fields = append(form.fields, fieldForm{f, i, field.Name})
		p.minBytes += f.minBytes
		p.minDepth = max(p.minDepth, 1+f.minDepth)
		p.addr = p.addr || f.addr
		if f.values == 0 {
			p.values = 0
		} else if p.values > 0 {
			p.values += f.values
		}
	}
	return nil
}

// transparent reports whether f, which is not exported, is an embedded struct of which the exported fields can be set
// all the same. Its methods could not be called, so it must not need any.
func transparent(f reflect.StructField) bool {
	return f.Anonymous && f.Type.Kind() == reflect.Struct && self.Of(f.Type) == self.Not
}

func unexported(t reflect.Type, f reflect.StructField) string {
	what := f.Type.String() + ", an unexported field"
	if from, ok := self.Promoted(t); ok {
		what += fmt.Sprintf(" (methods that may come from the embedded %s do not count)", from.Name)
	}
	return what
}

func (s *structForm) encode(e *encoder, v reflect.Value) error {
	if err := e.array(len(s.fields)); err != nil {
		return err
	}
	defer e.close()
	for i := range s.fields {
		f := &s.fields[i]
		if err := f.encode(e, v.Field(f.index)); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

func (s *structForm) decode(d *decoder, v reflect.Value) error {
	if err := d.array(len(s.fields)); err != nil {
		return err
	}
	for i := range s.fields {
		f := &s.fields[i]
		if err := f.decode(d, v.Field(f.index)); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}
