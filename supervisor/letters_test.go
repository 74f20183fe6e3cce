package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
	"github.com/weirflow/weir/supervisor"
)

// A door is a sink of which the test says what happens when it is opened and closed.
type door struct {
	archive
	opening, closing func() error
}

func (d *door) OpenLetters(ctx context.Context) (stages.LetterWriter, error) {
	if d.opening != nil {
		if err := d.opening(); err != nil {
			return nil, err
		}
	}
	d.open++
	return d, nil
}

func (d *door) Close() error {
	d.open--
	if d.closing != nil {
		return d.closing()
	}
	return nil
}

// lettered has a stage "s0", "s1" and so on for each of the sinks.
func lettered(t *testing.T, sinks ...stages.LetterSink) stages.Pipeline[int] {
	return define(func(g *stages.Graph) stages.Stream[int] {
		in := stages.Source(g, "ints", closed(t))
		for i, sink := range sinks {
			in = stages.Map(in, fmt.Sprint("s", i), same, stages.OnError(stages.DeadLetter(sink, 1)))
		}
		return in
	})
}

func undeployable[T any](t *testing.T, p stages.Pipeline[T]) error {
	t.Helper()
	run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), p, nil)
	if err == nil {
		run.Stop()
		t.Fatal("it was deployed")
	}
	return err
}

// says reports whether an error has these lines, in which HERE is a place in a test.
func says(err error, lines ...string) bool {
	got := strings.Split(err.Error(), "\n")
	return slices.EqualFunc(got, lines, func(got, want string) bool {
		return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "HERE", `\w+_test\.go:\d+`) + "$").MatchString(got)
	})
}

func TestWhatCannotBeALetterIsAFaultOfTheDefinition(t *testing.T) {
	var sink archive
	err := undeployable(t, define(func(g *stages.Graph) stages.Stream[error] {
		policy := stages.OnError(stages.DeadLetter(&sink, 1))
		one := stages.Map(stages.Source(g, "ints", closed(t)), "one", func(_ context.Context, v int) (func(), error) { return nil, nil }, policy)
		two := stages.Map(one, "two", func(context.Context, func()) (error, error) { return nil, nil }, policy)
		return stages.Map(two, "three", func(_ context.Context, v error) (error, error) { return v, nil }, policy)
	}))
	if !says(err,
		`HERE: pipeline "test": stage "two": its input cannot be a dead letter: codecs: type cannot be encoded: func(): func()`,
		`HERE: pipeline "test": stage "three": its input cannot be a dead letter: codecs: type cannot be encoded: error: error`) {
		t.Errorf("got %v", err)
	}
	fault, ok := errors.AsType[*stages.DefinitionError](err)
	if !ok || fault.Stage != "two" || fault.Line == 0 || !errors.Is(err, codecs.ErrNotEncodable) {
		t.Errorf("got %+v", fault)
	}
	if sink.open != 0 {
		t.Error("the sink was opened")
	}
}

func TestASinkThatCannotBeOpenedFailsTheDeployment(t *testing.T) {
	var good archive
	missing := filepath.Join(t.TempDir(), "missing", "letters.jsonl")
	bad := &door{opening: func() error { return errBad }}
	err := undeployable(t, lettered(t, &good, bad, deadletter.File(missing), &good))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 2 || !says(errors.New(lines[0]), `HERE: pipeline "test": stage "s1": its dead-letter sink cannot be opened: bad`) || !strings.Contains(lines[1], `stage "s2": its`) {
		t.Errorf("got %v", err)
	}
	if !errors.Is(err, errBad) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if good.open != 0 || bad.open != 0 {
		t.Errorf("%d and %d are open", good.open, bad.open)
	}
}

// What a sink does to Deploy stays with the sink, and the others are closed.
func TestDeployIsShieldedFromSinks(t *testing.T) {
	var last archive
	silent := &door{closing: func() error { return io.ErrClosedPipe }}
	loud := &door{closing: func() error { panic("closing") }}
	err := undeployable(t, lettered(t, silent, loud, &last, &door{opening: func() error { panic("opening") }}))
	if !says(err,
		`HERE: pipeline "test": stage "s3": its dead-letter sink cannot be opened: panic: opening (HERE)`,
		`HERE: pipeline "test": stage "s0": its dead-letter sink cannot be closed: io: read/write on closed pipe`,
		`HERE: pipeline "test": stage "s1": its dead-letter sink cannot be closed: panic: closing (HERE)`) {
		t.Errorf("got %v", err)
	}
	p, ok := errors.AsType[*stages.PanicError](err)
	if !ok || p.Stage != "s3" || p.Value != "opening" || strings.Count(p.Stack, "\n") != 4 || !strings.Contains(p.Stack, "letters_test.go") {
		t.Errorf("got %+v", p)
	}
	if silent.open != 0 || loud.open != 0 || last.open != 0 {
		t.Errorf("%d, %d and %d are open", silent.open, loud.open, last.open)
	}
	if err := undeployable(t, lettered(t, nothing{})); !says(err, `HERE: pipeline "test": stage "s0": its dead-letter sink cannot be opened: it has no writer: nil`) {
		t.Errorf("got %v", err)
	}
}

type nothing struct{}

func (nothing) OpenLetters(context.Context) (stages.LetterWriter, error) { return nil, nil }

// A letter says of what type it is.
func TestALetterHasTheShapeOfTheInput(t *testing.T) {
	type line struct {
		Path string
		N    int
	}
	var a archive
	_, _, err := collect(t, define(func(g *stages.Graph) stages.Stream[int] {
		lines := stages.Map(stages.Source(g, "ints", ints(1)), "line", func(_ context.Context, v int) (line, error) { return line{"a", v}, nil })
		return stages.Map(lines, "work", func(context.Context, line) (int, error) { return 0, errBad }, stages.OnError(stages.DeadLetter(&a, 1)))
	}))
	if err != nil || len(a.taken) != 1 || a.taken[0].Shape != "{Path string; N int}" {
		t.Errorf("got %v, %+v", err, a.taken)
	}
}

// A crash in the middle of a letter costs that one. What is there can be run again, into the same file too: then the
// beginning of the last letter goes with the opening of the sink.
func TestAFileThatACrashHasCutShortIsReplayed(t *testing.T) {
	for _, name := range []string{"letters.jsonl", "letters.msgpack"} {
		for _, same := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), name)
			w, err := deadletter.File(path).OpenLetters(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range lettersOf("s0", 1, 2, 3) {
				err = errors.Join(err, w.Write(t.Context(), l))
			}
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err == nil {
				err = os.Truncate(path, info.Size()-5)
			}
			if err != nil {
				t.Fatal(err)
			}
			sink := stages.LetterSink(deadletter.File(path))
			if !same {
				sink = &archive{}
			}
			got, _, err := replay(t, lettered(t, sink), deadletter.Read(path))
			if err != nil || !slices.Equal(got, []int{1, 2}) {
				t.Errorf("%s, the same file %v: got %v, %v", name, same, got, err)
			}
			for _, err := range deadletter.Read(path) {
				if err != nil && (same || !errors.Is(err, io.ErrUnexpectedEOF)) {
					t.Errorf("%s, the same file %v: got %v", name, same, err)
				}
			}
		}
	}
}
