package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

// asProgram, in the environment of the test binary, makes it the program itself.
const asProgram = "IMAGELOADER_TEST_AS_PROGRAM"

var sup *supervisor.Supervisor // set by TestMain

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	sup = supervisor.Main(loader)
	os.Exit(m.Run())
}

type result struct {
	status         int
	stdout, stderr string
}

// execute runs the program in this process, with nobody at the keyboard.
func execute(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := command(t.Context(), context.Background(), sup, args, &stdout, &stderr)
	return result{status, stdout.String(), stderr.String()}
}

// executeJSON is execute for runs that succeed.
func executeJSON(t *testing.T, args ...string) summary {
	t.Helper()
	r := execute(t, append(args, "-json")...)
	if r.status != 0 {
		t.Fatalf("imageloader %q: status %d: %s", args, r.status, r.stderr)
	}
	return r.summary(t)
}

func (r result) summary(t *testing.T) (s summary) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &s); err != nil {
		t.Fatalf("%q: %v", r.stdout, err)
	}
	if s.Yielded != s.Delivered+s.Filtered+s.Failed {
		t.Errorf("yielded %d, but delivered %d + filtered %d + failed %d", s.Yielded, s.Delivered, s.Filtered, s.Failed)
	}
	return s
}

// failsWith wants the status, nothing on the standard output, and one line, with these words, on the standard error.
func (r result) failsWith(t *testing.T, status int, words ...string) {
	t.Helper()
	if r.status != status || r.stdout != "" {
		t.Errorf("status %d and %q on the standard output, want %d and nothing", r.status, r.stdout, status)
	}
	if !strings.HasPrefix(r.stderr, "imageloader: ") || strings.Index(r.stderr, "\n") != len(r.stderr)-1 {
		t.Errorf("standard error %q, want one line", r.stderr)
	}
	for _, w := range words {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("standard error %q does not mention %q", r.stderr, w)
		}
	}
}

func TestAProcessExitsWithTheStatusOfItsRun(t *testing.T) {
	good, bad := t.TempDir(), t.TempDir()
	writeFile(t, bad, "broken.png", []byte("no image"))
	writeGoodImages(t, good)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		stdout string // its beginning
		stderr string
	}{
		{"a complete run", []string{"-dir", good, "-json"}, 0, `{"pipeline":"imageloader","placement":"inprocess",`, ""},
		{"a failed run", []string{"-dir", bad}, 1, "", "broken.png: image: unknown format\n"},
		{"a wrong flag", []string{"-workers", "0"}, 2, "", "imageloader: -workers 0: want 1 to 1024\n"},
		{"a question", []string{"-h"}, 0, "Usage: imageloader [flags]\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), self, tt.args...)
			cmd.Env = append(os.Environ(), asProgram+"=1")
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err = cmd.Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
				t.Fatal(err)
			} else if ok != (tt.status != 0) || ok && exit.ExitCode() != tt.status {
				t.Errorf("status %v, want %d", err, tt.status)
			}
			if !strings.HasPrefix(stdout.String(), tt.stdout) || tt.stdout == "" && stdout.Len() > 0 {
				t.Errorf("standard output %q, want %q", &stdout, tt.stdout)
			}
			if !strings.HasSuffix(stderr.String(), tt.stderr) || tt.stderr == "" && stderr.Len() > 0 {
				t.Errorf("standard error %q, want %q", &stderr, tt.stderr)
			}
		})
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
