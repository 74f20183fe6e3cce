package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/supervisor"
	"github.com/weirflow/weir/supervisor/supervisortest"
)

var sup *supervisor.Supervisor // set by TestMain

func TestMain(m *testing.M) {
	sup = supervisor.Main(shaky)
	os.Exit(m.Run())
}

type outcome struct {
	status         int
	stdout, stderr string
}

// execute runs the program in this process, with nobody at the keyboard.
func execute(args ...string) outcome {
	var stdout, stderr bytes.Buffer
	status := command(context.Background(), sup, args, &stdout, &stderr)
	return outcome{status, stdout.String(), stderr.String()}
}

func (o outcome) result(t *testing.T) (r result) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || o.status != 0 {
		t.Fatalf("status %d, %q, %q: %v", o.status, o.stdout, o.stderr, err)
	}
	return r
}

func TestNothingIsLostWhateverPanicsAndFails(t *testing.T) {
	for at := range supervisortest.Placements(t, sup, shaky.With(Config{Items: 1})) {
		for _, tt := range []struct {
			name             string
			args             []string
			yielded          int64
			failed, restarts int64
		}{
			{"every 13th panics, some fail", []string{"-items", "20000"}, 20_000, 13, 1537}, // 19513 is to do both, and fails first
			{"none panics", []string{"-items", "20000", "-panic-every", "0"}, 20_000, 13, 0},
			{"none fails", []string{"-items", "20000", "-fail-every", "0"}, 20_000, 0, 1538},
			{"neither", []string{"-items", "20000", "-panic-every", "0", "-fail-every", "0"}, 20_000, 0, 0},
			{"each second panics", []string{"-items", "3000", "-panic-every", "2"}, 3000, 1, 1500},
			{"each panics", []string{"-items", "3000", "-panic-every", "1"}, 3000, 1, 2999},
			{"each panics, one in a hundred fails", []string{"-items", "3000", "-panic-every", "1", "-fail-every", "100"}, 3000, 30, 2970},
			{"one item, which panics", []string{"-items", "1", "-panic-every", "1"}, 1, 0, 1},
			{"only what is not there panics and fails", []string{"-items", "100", "-panic-every", "101", "-fail-every", "101"}, 100, 0, 0},
		} {
			t.Run(at+"/"+tt.name, func(t *testing.T) {
				got := execute(append(tt.args, "-json", "-placement", at)...).result(t)
				got.Seconds = 0
				if want := (result{Yielded: tt.yielded, Delivered: tt.yielded - tt.failed, Failed: tt.failed, Restarts: tt.restarts}); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
		}
	}
}

func TestJSONIsOneObjectWithTheseKeysInThisOrder(t *testing.T) {
	o := execute("-items", "100", "-json")
	in := json.NewDecoder(strings.NewReader(o.stdout))
	if tok, err := in.Token(); err != nil || tok != json.Delim('{') {
		t.Fatalf("%v, %v, want an object", tok, err)
	}
	var keys []string
	for in.More() {
		key, err := in.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var value float64
		if err := in.Decode(&value); err != nil || value < 0 {
			t.Errorf("%s: %v, %v, want a number", key, value, err)
		}
	}
	want := []string{"yielded", "delivered", "filtered", "failed", "restarts", "lost", "duplicated", "reordered", "seconds"}
	if !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	if _, err := in.Token(); err != nil {
		t.Error(err)
	}
	if _, err := in.Token(); err != io.EOF {
		t.Errorf("there is more behind the object: %q", o.stdout)
	}
	if r := o.result(t); r.Seconds <= 0 {
		t.Errorf("%v seconds", r.Seconds)
	}
}

func TestForPeopleTheResultIsTwoLines(t *testing.T) {
	o := execute("-items", "300", "-fail-every", "100")
	want := "yielded 300 = delivered 297 + filtered 0 + failed 3\nrestarts 23, lost 0, duplicated 0, reordered 0, seconds "
	if rest, ok := strings.CutPrefix(o.stdout, want); o.status != 0 || !ok || strings.Count(rest, "\n") != 1 {
		t.Errorf("status %d, %q, want %q", o.status, o.stdout, want)
	}
}

func TestAMistakeInTheCommandLineIsOneLine(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no items", []string{"-items", "0"}, "-items 0: want 1 to 1000000000"},
		{"too many items", []string{"-items", "1000000001"}, "-items 1000000001: want 1 to 1000000000"},
		{"items that are no number", []string{"-items", "many"}, `invalid value "many" for flag -items: parse error`},
		{"negative panics", []string{"-panic-every", "-1"}, "-panic-every -1: want at least 1, or 0 for never"},
		{"negative failures", []string{"-fail-every", "-1"}, "-fail-every -1: want at least 1, or 0 for none"},
		{"an unknown placement", []string{"-placement", "moon"}, `placement "moon": not known: want "inprocess", "subprocess", ` +
			`tcp://HOST:PORT, dns:///NAME:PORT, 4*subprocess, STAGE..STAGE=subprocess, or a file, .yaml or .json`},
		{"an unknown flag", []string{"-speed", "9"}, "flag provided but not defined: -speed"},
		{"a word", []string{"100"}, `unexpected argument "100"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := execute(tt.args...), (outcome{2, "", "restart: " + tt.want + "\n"}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

func TestAQuestionIsAnswered(t *testing.T) {
	o := execute("-h")
	if o.status != 0 || !strings.HasPrefix(o.stdout, "Usage: restart [flags]\n") || o.stderr != "" {
		t.Errorf("%+v", o)
	}
	for _, name := range []string{"items", "panic-every", "fail-every", "placement", "json"} {
		if !strings.Contains(o.stdout, "\n  -"+name) {
			t.Errorf("no -%s in %q", name, o.stdout)
		}
	}
}

func TestTooManyFailuresFailTheRun(t *testing.T) {
	for _, every := range []string{"1", "2", "10"} {
		o := execute("-fail-every", every, "-json")
		last := o.stderr[strings.LastIndex(strings.TrimSuffix(o.stderr, "\n"), "\n")+1:]
		if o.status != 1 || o.stdout != "" || !strings.HasPrefix(last, `restart: pipeline "restart": stage "decode": `) {
			t.Errorf("each %sth: status %d, %q, %q", every, o.status, o.stdout, o.stderr)
		}
		for _, want := range []string{"budget", "the last: ", ": corrupt"} {
			if !strings.Contains(last, want) {
				t.Errorf("each %sth: %q does not say %q", every, last, want)
			}
		}
	}
}

func TestAnOutputThatCannotBeWrittenFailsTheProgram(t *testing.T) {
	for _, args := range [][]string{{"-items", "10"}, {"-items", "10", "-json"}} {
		var stderr bytes.Buffer
		if status := command(t.Context(), sup, args, full{}, &stderr); status != 1 || !strings.HasSuffix(stderr.String(), "restart: no space left\n") {
			t.Errorf("status %d, %q", status, &stderr)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }
