package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weirflow/weir/examples/tokenize/tokens"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// asNode in the environment makes the test's program the command.
const asNode = "REMOTENODE_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asNode) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// start runs the command as a process until the test ends, and returns where it listens.
func start(t *testing.T, args ...string) (addr string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), asNode+"=1")
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the node: %v\n%s", err, &log)
		}
		t.Log(log.String())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the node says %q, %v", line, err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "listening at "))
}

// batches is what comes of the pipeline at a placement.
func batches(t *testing.T, cfg tokens.Config, at supervisor.Placement) (all [][]tokens.Tokens, err error) {
	t.Helper()
	for b, err := range supervisor.Items(t.Context(), supervisor.New(supervisor.Config{Restart: stages.Restart{Max: 1}}), tokens.Pipeline.With(cfg), at) {
		if err != nil {
			return all, err
		}
		all = append(all, b)
	}
	return all, nil
}

func TestTheTokenizerRunsOnANode(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{{"-make-token", file("token")}, {"-make-certs", dir}} {
		if err := command(t.Context(), args, os.Stdout, os.Stderr); err != nil {
			t.Fatal(err)
		}
	}
	shards, err := tokens.WriteShards(dir, 3, 40)
	if err != nil {
		t.Fatal(err)
	}
	cfg := tokens.Config{Shards: shards, Seed: 1, Words: 1 << 15, MaxTokens: 4096}
	want, err := batches(t, cfg, supervisor.InProcess{})
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		name   string
		args   []string
		params string
	}{
		{"join token", []string{"-join", file("token")}, "?join=" + file("token")},
		{"certificates", []string{"-cert", file("node.pem"), "-key", file("node.key"), "-ca", file("ca.pem")}, fmt.Sprintf("?cert=%s&key=%s&ca=%s", file("client.pem"), file("client.key"), file("ca.pem"))},
		{"open", []string{"-open"}, ""},
	} {
		t.Run(way.name, func(t *testing.T) {
			addr := start(t, way.args...)
			at, err := supervisor.ParsePlacement(fmt.Sprintf("prose=tcp://%s%s,strip..code=2*tcp://%s%s", addr, way.params, addr, way.params))
			if err != nil {
				t.Fatal(err)
			}
			got, err := batches(t, cfg, at)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%d batches, want %d, or they differ", len(got), len(want))
			}
		})
	}
}

func TestAStrangerIsToldWhy(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := command(t.Context(), []string{"-make-token", filepath.Join(dir, name)}, os.Stdout, os.Stderr); err != nil {
			t.Fatal(err)
		}
	}
	addr := start(t, "-join", filepath.Join(dir, "a"))
	for params, want := range map[string]string{"?join=" + filepath.Join(dir, "b"): "wrong key", "": "connection closed"} {
		at, err := supervisor.ParsePlacement("prose=tcp://" + addr + params)
		if err != nil {
			t.Fatal(err)
		}
		shards, err := tokens.WriteShards(t.TempDir(), 1, 10)
		if err != nil {
			t.Fatal(err)
		}
		_, err = batches(t, tokens.Config{Shards: shards, Words: 10, MaxTokens: 1000}, at)
		var auth *supervisor.AuthError
		if !errors.As(err, &auth) || auth.Reason != want {
			t.Errorf("%q: %v, want %s", params, err, want)
		}
	}
}

func TestACallThatMakesNoSenseIsRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"-open", "-join", "x"}, {"-join", "nothing"}, {"-join", "a", "-cert", "b"}, {"-listen", "0.0.0.0:0", "-open"}, {"what"}, {"-cert", "nothing"}} {
		if err := command(t.Context(), args, os.Stdout, os.Stderr); err == nil {
			t.Errorf("%q is done", args)
		}
	}
}
