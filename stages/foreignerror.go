package stages

import "reflect"

// A foreign error comes from another process, which has more of it.
type foreign struct {
	text   string
	is     []error // sentinels that it is, without what it wraps
	values []error // that errors.As finds in it
}

func (e *foreign) Error() string { return e.text }

func (e *foreign) Is(target error) bool {
	for _, s := range e.is {
		if same(s, target) {
			return true
		}
	}
	return false
}

// As finds values that have come along. errors.As has made sure that target is a pointer.
func (e *foreign) As(target any) bool {
	into := reflect.ValueOf(target)
	if into.Kind() != reflect.Pointer || into.IsNil() {
		return false
	}
	into = into.Elem()
	for _, v := range e.values {
		if reflect.TypeOf(v).AssignableTo(into.Type()) {
			into.Set(reflect.ValueOf(v))
			return true
		}
	}
	return false
}

// stands returns what e stands for, if that is known: it is passed on.
func (e *foreign) stands() error {
	if len(e.values) == 0 {
		return nil
	}
	return e.values[0]
}

// A foreignOne wraps another error.
type foreignOne struct {
	foreign
	err error
}

func (e *foreignOne) Unwrap() error { return e.err }

// A foreignMany wraps several.
type foreignMany struct {
	foreign
	errs []error
}

func (e *foreignMany) Unwrap() []error { return e.errs }
