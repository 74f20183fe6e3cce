package stages

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/plan"
)

// Errors names the sentinels of the pipeline's functions that must survive the way between processes, so that
// errors.Is(err, ErrCorrupt) holds for the deploying program wherever the stage ran. Those of context, io, io/fs, os, net,
// strconv and syscall, and weir's own, always do. Errors that are not named keep their text, and what they wrap.
//
// A sentinel goes by its place in the list. It must not be nil, and must be comparable. Calls add up, and after the build
// function has returned it does nothing.
func (g *Graph) Errors(sentinels ...error) {
	at := place{}
	at.file, at.line = statement()
	for i, err := range sentinels {
		switch {
		case err == nil:
			g.fault(at, fmt.Sprintf("sentinel %d of Errors is nil", i))
		case !same(err, err):
			g.fault(at, fmt.Sprintf("sentinel %d of Errors is a %T, which cannot be compared: ErrorType is for types", i, err))
		default:
			g.errors = append(g.errors, err)
		}
	}
}

// ErrorType does for errors.As what Graph.Errors does for errors.Is: values of the error type E travel with their fields.
// Those of E must be types that the default codec can encode (package codecs/msgpack says which), and must be exported:
// else errors of the type keep their text only, and what they wrap. Always there are *ItemError, *PanicError, *HungError,
// *RestartError and *DefinitionError; *fs.PathError, *os.LinkError and *os.SyscallError; *strconv.NumError; syscall.Errno
// between systems of one kind; and *net.OpError, *net.DNSError, *net.AddrError and *net.ParseError.
//
// E is a struct, or a pointer to one, as the functions return it: not an interface.
func ErrorType[E error](g *Graph) {
	t := reflect.TypeFor[E]()
	if t.Kind() == reflect.Interface {
		at := place{}
		at.file, at.line = statement()
		g.fault(at, fmt.Sprintf("ErrorType of %v, which is an interface: want the type that implements it", t))
		return
	}
	e := plan.ErrorType{Shape: codecs.ShapeOf(t), Decode: func([]byte) (error, bool) { return nil, false }}
	codec := &msgpack.Codec{}
	if codec.Check(t) == nil {
		e.Encode = func(err error) ([]byte, bool) { return encodeOf[E](codec, err) }
		e.Decode = func(b []byte) (error, bool) { return decodeOf[E](codec, b) }
	}
	g.types = append(g.types, e)
}

func encodeOf[E error](codec *msgpack.Codec, err error) (b []byte, ok bool) {
	defer func() {
		if recover() != nil {
			b, ok = nil, false
		}
	}()
	v, is := err.(E)
	if !is {
		as, has := err.(interface{ As(any) bool })
		if !has || !as.As(&v) {
			return nil, false
		}
	}
	b, cannot := codec.Append(nil, v)
	return b, cannot == nil
}

func decodeOf[E error](codec *msgpack.Codec, b []byte) (err error, ok bool) {
	defer func() {
		if recover() != nil {
			err, ok = nil, false
		}
	}()
	var v E
	if codec.Decode(b, &v) != nil {
		return nil, false
	}
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
		return nil, false // of which nobody expects that it can be asked
	}
	return v, true
}

// same reports whether two errors are equal. Those that cannot be compared are not.
func same(a, b error) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
}

// isItself reports whether err is target without what it wraps. It runs user code, which may panic.
func isItself(err, target error) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	if same(err, target) {
		return true
	}
	x, ok := err.(interface{ Is(error) bool })
	return ok && x.Is(target)
}

// wrapped returns what err wraps, and whether it can be several. It runs user code, which may panic.
func wrapped(err error) (all []error, several bool) {
	defer func() {
		if recover() != nil {
			all, several = nil, false
		}
	}()
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			if e != nil {
				all = append(all, e)
			}
		}
		return all, true
	}
	if one := errors.Unwrap(err); one != nil {
		all = append(all, one)
	}
	return all, false
}
