package stages

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/payload"
	"github.com/weirflow/weir/internal/plan"
)

// knownErrors are the sentinels that every process knows. They travel by their place: new ones go to the end, and none is
// ever taken out.
func knownErrors() []error {
	return []error{
		context.Canceled, context.DeadlineExceeded,
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, io.ErrNoProgress, io.ErrShortBuffer, io.ErrShortWrite,
		fs.ErrInvalid, fs.ErrPermission, fs.ErrExist, fs.ErrNotExist, fs.ErrClosed,
		os.ErrDeadlineExceeded, os.ErrNoDeadline, os.ErrProcessDone,
		net.ErrClosed, net.ErrWriteToConnected,
		errors.ErrUnsupported,
		strconv.ErrSyntax, strconv.ErrRange, bufio.ErrTooLong,
		ErrFatal, ErrRetryable,
		ErrTooMany, ErrBudget, ErrNotDeterministic, ErrEmptyEpoch, ErrBranch, ErrRejoin, ErrRestarts, ErrHung,
		plan.ErrDropped,
		codecs.ErrNotEncodable, msgpack.ErrMalformed, msgpack.ErrMismatch, msgpack.ErrMemory, msgpack.ErrDepth,
		// Numbers differ between systems, names do not.
		syscall.EACCES, syscall.EADDRINUSE, syscall.EADDRNOTAVAIL, syscall.EAGAIN, syscall.EBADF, syscall.EBUSY,
		syscall.ECANCELED, syscall.ECONNABORTED, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EDQUOT, syscall.EEXIST,
		syscall.EFBIG, syscall.EHOSTUNREACH, syscall.EINTR, syscall.EINVAL, syscall.EIO, syscall.EISDIR, syscall.ELOOP,
		syscall.EMFILE, syscall.ENAMETOOLONG, syscall.ENETUNREACH, syscall.ENFILE, syscall.ENODEV, syscall.ENOENT,
		syscall.ENOMEM, syscall.ENOSPC, syscall.ENOSYS, syscall.ENOTCONN, syscall.ENOTDIR, syscall.ENOTEMPTY, syscall.ENOTSUP,
		syscall.EPERM, syscall.EPIPE, syscall.EROFS, syscall.ESTALE, syscall.ETIMEDOUT, syscall.EXDEV,
		codecs.ErrTooLarge, payload.ErrReleased, payload.ErrMalformed,
	}
}

// A form says how an error travels. The numbers are on the wire: none is ever used for something else.
type form uint8

const (
	plainForm   form = 0 // its text, and what it wraps
	knownForm   form = 1 // it is one of knownErrors
	namedForm   form = 2 // it is one of Graph.Errors
	itemForm    form = 10
	panicForm   form = 11
	hungForm    form = 12
	restartForm form = 13
	definedForm form = 14
	pathForm    form = 20
	linkForm    form = 21
	syscallForm form = 22
	errnoForm   form = 23
	numForm     form = 24
	opForm      form = 25
	dnsForm     form = 26
	addrForm    form = 27
	parseForm   form = 28
	unknownForm form = 29
	badAddrForm form = 30
)

// fields are those of an error of some form. What it wraps travels apart.
type fields struct {
	strings []string
	numbers []int64
}

func (f *fields) add(strings ...string)      { f.strings = append(f.strings, strings...) }
func (f *fields) count(numbers ...int64)     { f.numbers = append(f.numbers, numbers...) }
func (f *fields) id(id ID)                   { f.add(id.Source, id.Path); f.count(int64(id.Epoch), id.Index) }
func (f *fields) flags(flags ...bool) fields { return f.flagged(flags) }

func (f *fields) flagged(flags []bool) fields {
	for _, b := range flags {
		if b {
			f.count(1)
		} else {
			f.count(0)
		}
	}
	return *f
}

// apartOf takes an error apart that every process knows the type of. A nil pointer panics.
func apartOf(err error) (form, fields) {
	var f fields
	switch e := err.(type) {
	case *ItemError:
		f.add(e.Stage)
		f.id(e.Item)
		f.count(int64(e.Attempts))
		return itemForm, f
	case *PanicError:
		f.add(e.Stage, e.Value, e.Stack)
		f.id(e.Item)
		return panicForm, f
	case *HungError:
		f.add(e.Stage, e.Task, e.Stack)
		f.id(e.Item)
		f.count(int64(e.Worker))
		return hungForm, f
	case *RestartError:
		f.add(e.Stage)
		f.count(int64(e.Restarts))
		return restartForm, f.flags(e.Process)
	case *DefinitionError:
		f.add(e.Pipeline, e.Stage, e.File, e.Reason)
		f.count(int64(e.Line))
		return definedForm, f
	case *fs.PathError:
		f.add(e.Op, e.Path)
		return pathForm, f
	case *os.LinkError:
		f.add(e.Op, e.Old, e.New)
		return linkForm, f
	case *os.SyscallError:
		f.add(e.Syscall)
		return syscallForm, f
	case syscall.Errno:
		f.count(int64(e))
		return errnoForm, f
	case *strconv.NumError:
		f.add(e.Func, e.Num)
		return numForm, f
	case *net.OpError:
		f.add(e.Op, e.Net)
		for _, a := range []net.Addr{e.Source, e.Addr} {
			if a != nil {
				f.add(a.Network(), a.String())
			} else {
				f.add("", "")
			}
		}
		return opForm, f.flags(e.Source != nil, e.Addr != nil)
	case *net.DNSError:
		f.add(e.Err, e.Name, e.Server)
		return dnsForm, f.flags(e.IsTimeout, e.IsTemporary, e.IsNotFound)
	case *net.AddrError:
		f.add(e.Err, e.Addr)
		return addrForm, f
	case *net.ParseError:
		f.add(e.Type, e.Text)
		return parseForm, f
	case net.UnknownNetworkError:
		f.add(string(e))
		return unknownForm, f
	case net.InvalidAddrError:
		f.add(string(e))
		return badAddrForm, f
	}
	return plainForm, f
}

// text returns the i-th string; of a stranger's fields there may be fewer.
func (f *fields) text(i int) string {
	if i < len(f.strings) {
		return plan.Printable(f.strings[i])
	}
	return ""
}

func (f *fields) number(i int) int64 {
	if i < len(f.numbers) {
		return f.numbers[i]
	}
	return 0
}

func (f *fields) flag(i int) bool { return f.number(i) != 0 }

// idAt is what id has added: two strings from s on, and two numbers from n on.
func (f *fields) idAt(s, n int) ID {
	return ID{Source: f.text(s), Path: f.text(s + 1), Epoch: int(f.number(n)), Index: f.number(n + 1)}
}

// together is the inverse of apartOf, for an error that wraps the errors of inner. alike says that it comes from a system of
// the same kind. nil: there is no such form.
func together(kind form, f *fields, inner []error, alike bool) error {
	var first error = &foreign{text: "a cause that has not come along"}
	if len(inner) > 0 {
		first = inner[0]
	}
	switch kind {
	case itemForm:
		return &ItemError{Stage: f.text(0), Item: f.idAt(1, 0), Attempts: int(f.number(2)), Err: first}
	case panicForm:
		return &PanicError{Stage: f.text(0), Value: f.text(1), Stack: f.text(2), Item: f.idAt(3, 0)}
	case hungForm:
		return &HungError{Stage: f.text(0), Task: f.text(1), Stack: f.text(2), Item: f.idAt(3, 0), Worker: int(f.number(2))}
	case restartForm:
		if len(inner) == 0 {
			inner = []error{first}
		}
		return &RestartError{Stage: f.text(0), Restarts: int(f.number(0)), Process: f.flag(1), Causes: inner}
	case definedForm:
		return &DefinitionError{Pipeline: f.text(0), Stage: f.text(1), File: f.text(2), Reason: f.text(3), Line: int(f.number(0))}
	case pathForm:
		return &fs.PathError{Op: f.text(0), Path: f.text(1), Err: first}
	case linkForm:
		return &os.LinkError{Op: f.text(0), Old: f.text(1), New: f.text(2), Err: first}
	case syscallForm:
		return &os.SyscallError{Syscall: f.text(0), Err: first}
	case errnoForm:
		if alike {
			return syscall.Errno(f.number(0))
		}
	case numForm:
		return &strconv.NumError{Func: f.text(0), Num: f.text(1), Err: first}
	case opForm:
		e := &net.OpError{Op: f.text(0), Net: f.text(1), Err: first}
		if f.flag(0) {
			e.Source = foreignAddr{f.text(2), f.text(3)}
		}
		if f.flag(1) {
			e.Addr = foreignAddr{f.text(4), f.text(5)}
		}
		return e
	case dnsForm:
		e := &net.DNSError{Err: f.text(0), Name: f.text(1), Server: f.text(2), IsTimeout: f.flag(0), IsTemporary: f.flag(1), IsNotFound: f.flag(2)}
		if len(inner) > 0 {
			e.UnwrapErr = first
		}
		return e
	case addrForm:
		return &net.AddrError{Err: f.text(0), Addr: f.text(1)}
	case parseForm:
		return &net.ParseError{Type: f.text(0), Text: f.text(1)}
	case unknownForm:
		return net.UnknownNetworkError(f.text(0))
	case badAddrForm:
		return net.InvalidAddrError(f.text(0))
	}
	return nil
}

// A foreignAddr is an address in another process.
type foreignAddr struct{ network, text string }

func (a foreignAddr) Network() string { return a.network }
func (a foreignAddr) String() string  { return a.text }

// numbered reports whether err is a number that means something in a system of its kind only.
func numbered(err error) bool {
	_, ok := err.(syscall.Errno)
	return ok
}

// Bits of errorNode.Net.
const (
	isNet = 1 << iota
	isTimeout
)

// netBits is what err says as a net.Error; 0 if it is none. It runs user code.
func netBits(err error) (bits uint8) {
	x, ok := err.(net.Error)
	if as, has := err.(interface{ As(any) bool }); !ok && has {
		ok = as.As(&x)
	}
	if !ok {
		return 0
	}
	bits = isNet
	if x.Timeout() {
		bits |= isTimeout
	}
	return bits
}

// A netFault is what is known of an error that was a net.Error.
type netFault struct {
	text string
	bits uint8
}

var _ net.Error = netFault{}

func (e netFault) Error() string { return e.text }
func (e netFault) Timeout() bool { return e.bits&isTimeout != 0 }

// Temporary is deprecated, and of most errors the same.
func (e netFault) Temporary() bool { return e.Timeout() }
