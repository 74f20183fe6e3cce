package stages_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

var (
	errCorrupt = errors.New("corrupt")
	errStale   = fmt.Errorf("stale: %w", io.EOF)
)

// A pageError has all of its fields exported.
type pageError struct{ Page, Line int }

func (e *pageError) Error() string { return fmt.Sprintf("page %d, line %d", e.Page, e.Line) }

// A codeError is no pointer, and has opinions of its own.
type codeError int

func (e codeError) Error() string        { return "code " + strconv.Itoa(int(e)) }
func (e codeError) Is(target error) bool { return e == 404 && target == fs.ErrNotExist }

// A hiddenError cannot be encoded.
type hiddenError struct{ text string }

func (e *hiddenError) Error() string { return e.text }

// An unnamedError is given to no ErrorType.
type unnamedError struct{ N int }

func (e unnamedError) Error() string { return "unnamed" }

// A disguise shows a pageError to those who ask.
type disguise struct{ error }

func (d disguise) As(target any) bool {
	p, ok := target.(**pageError)
	if ok {
		*p = &pageError{7, 8}
	}
	return ok
}

// A slowError is a net.Error of the user's.
type slowError struct{}

func (slowError) Error() string   { return "slow" }
func (slowError) Timeout() bool   { return true }
func (slowError) Temporary() bool { return false }

// travelled is a graph of whose errors some are named.
func travelled(t testing.TB) *plan.Graph {
	p := stages.Define("p", func(g *stages.Graph, _ struct{}) stages.Stream[int] {
		g.Errors(errCorrupt, errStale)
		stages.ErrorType[*pageError](g)
		stages.ErrorType[codeError](g)
		stages.ErrorType[*hiddenError](g)
		return numbers(g, "in")
	}).With(struct{}{})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return p.Plan()
}

// texts is what errors in a tree say.
func texts(err error) (all []string) {
	all = append(all, err.Error())
	switch x := err.(type) {
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			all = append(all, texts(e)...)
		}
	case interface{ Unwrap() error }:
		if e := x.Unwrap(); e != nil {
			all = append(all, texts(e)...)
		}
	}
	return all
}

func samples() map[string]error {
	id := stages.ID{Source: "list", Epoch: 2, Index: 12, Path: ".3.1"}
	panicked := &stages.PanicError{Stage: "decode", Item: id, Value: "no such key", Stack: "main.f\n\t/src/decode.go:31\n"}
	opening := &fs.PathError{Op: "open", Path: "a.jpg", Err: syscall.ENOENT}
	return map[string]error{
		"a text":             errors.New("ouch"),
		"an empty text":      errors.New(""),
		"a sentinel":         errCorrupt,
		"one that wraps":     errStale,
		"a wrapped one":      fmt.Errorf("a.jpg: %w", errCorrupt),
		"several":            errors.Join(errCorrupt, io.ErrUnexpectedEOF, errors.New("third")),
		"two wrapped":        fmt.Errorf("%w and %w", errStale, context.DeadlineExceeded),
		"cancellation":       context.Canceled,
		"a file":             opening,
		"a linked file":      &os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EXDEV},
		"a system call":      fmt.Errorf("write: %w", os.NewSyscallError("write", syscall.ENOSPC)),
		"a number":           func() error { _, err := strconv.Atoi("two"); return err }(),
		"a connection":       &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"a deadline":         &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded},
		"a name":             &net.DNSError{Err: "no such host", Name: "x.invalid", IsNotFound: true},
		"an address":         &net.AddrError{Err: "missing port", Addr: "x"},
		"a parse error":      &net.ParseError{Type: "IP address", Text: "x"},
		"a network":          net.UnknownNetworkError("x"),
		"a bad address":      net.InvalidAddrError("x"),
		"an item":            &stages.ItemError{Stage: "decode", Item: id, Attempts: 3, Err: opening},
		"an item's panic":    &stages.ItemError{Stage: "decode", Item: id, Attempts: 1, Err: panicked},
		"a panic":            panicked,
		"one that hangs":     &stages.HungError{Stage: "decode", Worker: 2, Item: id, Stack: "main.f\n"},
		"a task that hangs":  &stages.HungError{Task: "renew"},
		"restarts":           &stages.RestartError{Stage: "decode", Restarts: 10, Causes: []error{panicked, errCorrupt}},
		"deaths":             &stages.RestartError{Stage: "decode..resize", Process: true, Restarts: 10, Causes: []error{panicked, errCorrupt}},
		"a budget":           stages.BudgetErrorOf("decode", 2, 10, &stages.ItemError{Stage: "decode", Item: id, Attempts: 1, Err: errCorrupt}),
		"a definition":       &stages.DefinitionError{Pipeline: "p", Stage: "s", File: "x/y.go", Line: 12, Reason: "mailbox 0"},
		"fatal":              stages.Fatal(fmt.Errorf("row 3: %w", errCorrupt)),
		"retryable":          stages.Retryable(opening),
		"too many":           fmt.Errorf("more than 3: %w", stages.ErrTooMany),
		"a type":             fmt.Errorf("book: %w", &pageError{3, 4}),
		"a type alone":       &pageError{3, 4},
		"no pointer":         codeError(500),
		"one with opinions":  fmt.Errorf("get: %w", codeError(404)),
		"a hidden one":       fmt.Errorf("book: %w", &hiddenError{"secret"}),
		"an unnamed one":     unnamedError{3},
		"a disguise":         disguise{errCorrupt},
		"a net.Error":        fmt.Errorf("get: %w", slowError{}),
		"a timeout":          fmt.Errorf("the stage's Timeout of %v is over: %w", time.Second, context.DeadlineExceeded),
		"many lines":         errors.New("one\ntwo\tthree"),
		"other writings":     errors.New("Straße 東京 ✓"),
		"an unsupported one": fmt.Errorf("x: %w", errors.ErrUnsupported),
	}
}

// as asks err for a T, and tells what it has found.
func as[T error](err error) string {
	v, ok := errors.AsType[T](err)
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%+v", reflect.Indirect(reflect.ValueOf(v)))
}

func TestErrorsAreTheSameInAnotherProcess(t *testing.T) {
	g := travelled(t)
	sentinels := []error{errCorrupt, errStale, io.EOF, io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded, fs.ErrNotExist, fs.ErrExist,
		fs.ErrPermission, os.ErrDeadlineExceeded, syscall.ENOENT, syscall.ENOSPC, syscall.EXDEV, syscall.ECONNREFUSED, syscall.EPERM, strconv.ErrSyntax,
		strconv.ErrRange, errors.ErrUnsupported, stages.ErrFatal, stages.ErrRetryable, stages.ErrTooMany, stages.ErrBudget, stages.ErrHung,
		stages.ErrRestarts, stages.ErrBranch}
	asked := func(err error) map[string]string {
		timeout := "none"
		if e, ok := errors.AsType[net.Error](err); ok {
			timeout = fmt.Sprint(e.Error(), e.Timeout())
		}
		return map[string]string{
			"net.Error": timeout, "PathError": as[*fs.PathError](err), "LinkError": as[*os.LinkError](err), "SyscallError": as[*os.SyscallError](err),
			"Errno": as[syscall.Errno](err), "NumError": as[*strconv.NumError](err), "OpError": as[*net.OpError](err), "DNSError": as[*net.DNSError](err),
			"AddrError": as[*net.AddrError](err), "ParseError": as[*net.ParseError](err), "ItemError": as[*stages.ItemError](err),
			"PanicError": as[*stages.PanicError](err), "HungError": as[*stages.HungError](err), "RestartError": as[*stages.RestartError](err),
			"DefinitionError": as[*stages.DefinitionError](err), "pageError": as[*pageError](err), "codeError": as[codeError](err),
		}
	}
	for name, err := range samples() {
		t.Run(name, func(t *testing.T) {
			got := stages.DecodeError(g, stages.EncodeError(g, err))
			if got.Error() != err.Error() {
				t.Fatalf("it says %q, want %q", got, err)
			}
			if a, b := texts(got), texts(err); !reflect.DeepEqual(a, b) {
				t.Errorf("the errors in it say %q, want %q", a, b)
			}
			for _, s := range sentinels {
				if errors.Is(got, s) != errors.Is(err, s) {
					t.Errorf("it is %v: %v, want %v", s, errors.Is(got, s), errors.Is(err, s))
				}
			}
			want := asked(err)
			for what, found := range asked(got) {
				if found != want[what] {
					t.Errorf("as a %s, it is %s, want %s", what, found, want[what])
				}
			}
			again := stages.DecodeError(g, stages.EncodeError(g, got)) // as one that is passed on
			if !reflect.DeepEqual(texts(again), texts(err)) || !reflect.DeepEqual(asked(again), want) {
				t.Errorf("after two processes, the errors in it say %q", texts(again))
			}
		})
	}
}

// What is not named keeps its text: the types of a program are nothing to another one.
func TestErrorsThatAreNotNamedKeepTheirText(t *testing.T) {
	g := travelled(t)
	unnamed := errors.New("unnamed sentinel")
	got := stages.DecodeError(g, stages.EncodeError(g, fmt.Errorf("x: %w, %w, %w", unnamed, unnamedError{3}, &hiddenError{"y"})))
	if errors.Is(got, unnamed) || as[unnamedError](got) != "none" || as[*hiddenError](got) != "none" || got.Error() != "x: unnamed sentinel, unnamed, y" {
		t.Errorf("got %v", got)
	}
}

func TestMistakesInErrorsAreFaults(t *testing.T) {
	err := faults(func(g *stages.Graph) stages.Stream[int] {
		g.Errors(errCorrupt, nil, badlyCompared{1})
		stages.ErrorType[error](g)
		return numbers(g, "in")
	})
	for _, want := range []string{"define_test.go:", "sentinel 1 of Errors is nil", "sentinel 2 of Errors is a stages_test.badlyCompared, which cannot be compared",
		"ErrorType of error, which is an interface"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

type badlyCompared []int

func (badlyCompared) Error() string { return "" }
