package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
	"github.com/weirflow/weir/supervisor"
)

// chained is stages called "0", "1" and so on, each with a sink, in which every item whose number is that of the stage,
// modulo the number of stages, fails.
func chained(n int, sinks ...stages.LetterSink) stages.Pipeline[int] {
	return define(func(g *stages.Graph) stages.Stream[int] {
		out := stages.Source(g, "ints", ints(n))
		for i, sink := range sinks {
			out = stages.Map(out, fmt.Sprint(i), func(_ context.Context, v int) (int, error) {
				if v%len(sinks) == i {
					return 0, errBad
				}
				return v, nil
			}, stages.OnError(stages.DeadLetter(sink, n)))
		}
		return out
	})
}

// undeployed wants of a deployment that it fails, with nothing begun, and returns why.
func undeployed[Out any](t *testing.T, p stages.Pipeline[Out]) error {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("Deploy panics: %v", r)
		}
	}()
	told := 0
	sup := supervisor.New(supervisor.Config{OnEvent: func(supervisor.Event) { told++ }})
	run, err := supervisor.Deploy(t.Context(), sup, p, nil)
	if run != nil || err == nil || told > 0 || len(sup.Runs()) > 0 {
		t.Fatalf("got %v, %v, %d events, %d runs", run, err, told, len(sup.Runs()))
	}
	return err
}

// Dead letters that could not be kept are refused by Deploy: no sink is opened then.
func TestF44ALetterThatCannotBeEncodedIsRefusedByDeploy(t *testing.T) {
	var a archive
	letters := stages.OnError(stages.DeadLetter(&a, 1))
	err := undeployed(t, define(func(g *stages.Graph) stages.Stream[int] {
		in := stages.Source(g, "ints", ints(9), letters) // letters of a source have no payload
		chans := stages.Map(in, "numbers", func(context.Context, int) (chan int, error) { return nil, nil }, letters)
		errs := stages.Map(chans, "channels", func(context.Context, chan int) (error, error) { return nil, nil }, letters)
		return stages.Map(errs, "errors", func(context.Context, error) (int, error) { return 0, nil }, letters)
	}))
	for _, want := range []string{`stage "channels"`, `stage "errors"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
	if !errors.Is(err, codecs.ErrNotEncodable) || strings.Contains(err.Error(), `stage "numbers"`) || strings.Contains(err.Error(), `stage "ints"`) || a.opened != 0 {
		t.Errorf("%v, opened %d times", err, a.opened)
	}
}

// A sink that cannot be opened, in whatever way, fails Deploy. Those of other stages do not stay open, also if they cannot
// be closed.
func TestF44ASinkThatCannotBeOpenedFailsDeploy(t *testing.T) {
	dir := t.TempDir()
	used := filepath.Join(dir, "used.jsonl")
	user, err := deadletter.File(used).OpenLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	other := filepath.Join(dir, "other.txt")
	if err := os.WriteFile(other, []byte("a diary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type row struct {
		sink stages.LetterSink
		want string
		is   error
	}
	rows := map[string]row{
		"an error":                 {&archive{opens: func() error { return errFull }}, "disk full", errFull},
		"a panic":                  {&archive{opens: func() error { panic("no disk") }}, "panic: no disk", nil},
		"a sink that is nil":       {(*archive)(nil), "panic: ", nil},
		"a writer that is nil":     {noWriter{}, "nil", nil},
		"a missing directory":      {deadletter.File(filepath.Join(dir, "no", "letters.jsonl")), "no such file or directory", fs.ErrNotExist},
		"a directory":              {deadletter.File(dir), "is a directory", nil},
		"no path":                  {deadletter.File(""), "empty", nil},
		"a file in use":            {deadletter.File(used), "in use", nil},
		"a file of something else": {deadletter.File(other), "other.txt", nil},
	}
	if runtime.GOOS == "linux" {
		rows["a device that is full"] = row{deadletter.File("/dev/full"), "not a regular file", nil}
	}
	for name, c := range rows {
		for how, closes := range map[string]func() error{
			"": nil, ", with a Close that fails": func() error { return errBad }, ", with a Close that panics": func() error { panic(errBad) },
		} {
			t.Run(name+how, func(t *testing.T) {
				before, behind := &archive{closes: closes}, &archive{closes: closes}
				kept := deadletter.File(filepath.Join(t.TempDir(), "kept.jsonl"))
				err := undeployed(t, chained(9, kept, before, c.sink, behind))
				if !strings.Contains(err.Error(), `stage "2": its dead-letter sink cannot be opened: `) || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("got %v", err)
				}
				if before.opened != 1 || behind.opened != 1 || before.open != 0 || behind.open != 0 {
					t.Errorf("opened %d and %d times, %d and %d are open", before.opened, behind.opened, before.open, behind.open)
				}
				if strings.Contains(err.Error(), "bad") != (closes != nil) {
					t.Errorf("what Close says is not told: %v", err)
				}
				w, err := kept.OpenLetters(t.Context()) // it is not in use
				if err != nil {
					t.Fatal(err)
				}
				w.Close()
			})
		}
	}
	if text, err := os.ReadFile(other); string(text) != "a diary\n" || err != nil {
		t.Errorf("a file that is none of letters is %q, %v", text, err)
	}
	if err := undeployed(t, chained(9, deadletter.File(""), &archive{opens: func() error { return errFull }})); !errors.Is(err, errFull) || !strings.Contains(err.Error(), `stage "0"`) {
		t.Errorf("not all that cannot be opened is said: %v", err)
	}
}

type noWriter struct{}

func (noWriter) OpenLetters(context.Context) (stages.LetterWriter, error) { return nil, nil }

// A scattered sink cannot be compared with another one.
type scattered func() *archive

func (s scattered) OpenLetters(ctx context.Context) (stages.LetterWriter, error) {
	return s().OpenLetters(ctx)
}

// Sinks that are equal are opened once, whatever the number of stages that name them.
func TestEqualSinksAreOpenedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var one, two archive
		var many [2]archive
		opened := 0
		several := scattered(func() *archive { opened++; return &many[opened-1] })
		r := play(t, chained(60, &one, &two, several, &one, several, &one), supervisor.Config{})
		if r.err != nil || r.stats.Failed != 60 {
			t.Fatal(r.err, r.stats.Failed)
		}
		if one.opened != 1 || two.opened != 1 || opened != 2 || one.open+two.open+many[0].open+many[1].open != 0 {
			t.Errorf("opened %d, %d and %d times, %d, %d and %d are open", one.opened, two.opened, opened, one.open, two.open, many[0].open+many[1].open)
		}
		if one.stored != 30 || two.stored != 10 || many[0].stored != 10 || many[1].stored != 10 {
			t.Errorf("%d, %d and %d letters", one.stored, two.stored, many[0].stored+many[1].stored)
		}
		stage := map[string]int{}
		for _, l := range one.taken {
			stage[l.Stage]++
		}
		if fmt.Sprint(stage) != "map[0:10 3:10 5:10]" {
			t.Errorf("got %v", stage)
		}
	})
}

// Stages share a file by its path, and each letter is there once, with its item.
func TestStagesShareAFileOfLetters(t *testing.T) {
	const n = 90
	for _, name := range []string{"letters.jsonl", "letters.msgpack"} {
		path := filepath.Join(t.TempDir(), name)
		run := deploy(t, chained(n, deadletter.File(path), deadletter.File(path), deadletter.File(filepath.Join(filepath.Dir(path), "third.jsonl"))), supervisor.Config{})
		for v, err := range run.Items(t.Context()) {
			t.Errorf("%v, %v came out", v, err)
		}
		if err := run.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []int
		var codec msgpack.Codec
		for l, err := range deadletter.Read(path) {
			var v int
			if err == nil {
				err = codec.Decode(l.Payload, &v)
			}
			if err != nil || l.Item.Index != int64(v) || l.Stage != fmt.Sprint(v%3) || l.Attempts != 1 || fmt.Sprint(l.Errors) != "[bad]" {
				t.Fatalf("got %+v, %d, %v", l, v, err)
			}
			got = append(got, v)
		}
		if len(got) != n/3*2 {
			t.Errorf("%s: %d letters", name, len(got))
		}
	}
}

// A file that is taken away while a run writes to it is as a disk that is full: the run ends, and the item whose letter is
// not there is in flight.
func TestF02AFileOfLettersThatIsTakenAwayEndsTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letters.jsonl")
	r := play(t, define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(1000)), "f", func(_ context.Context, v int) (int, error) {
			switch {
			case v == 50:
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
			case v%20 != 0:
				return v, nil
			}
			return 0, errBad
		}, stages.OnError(stages.DeadLetter(deadletter.File(path), 1000)), stages.Buffer(0))
	}), supervisor.Config{})
	if r.err == nil || !strings.Contains(r.err.Error(), `stage "f": its dead-letter sink failed`) || !strings.Contains(r.err.Error(), path) || errors.Is(r.err, stages.ErrBudget) {
		t.Errorf("got %v", r.err)
	}
	if r.stats.Failed > 3 || len(told[supervisor.ItemFailed](r.events)) != int(r.stats.Failed) {
		t.Errorf("%d items have failed, though 3 letters were written", r.stats.Failed)
	}
	wantItems(t, r.out, without(50, 0, 20, 40)[:len(r.out)])
}
