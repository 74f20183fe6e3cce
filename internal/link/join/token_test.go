package join

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestATokenAndItsSecretAreNeverPrinted(t *testing.T) {
	tok := must(New())
	s := tok.t.own.secret
	raw := s.reveal()[:]
	key := must(tok.t.own.key.Bytes())
	leaks := []string{
		string(key), hex.EncodeToString(key), strings.ToUpper(hex.EncodeToString(key)), strings.Trim(fmt.Sprint(key), "[]"), new(big.Int).SetBytes(key).String(),
		string(raw), hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), base64.StdEncoding.EncodeToString(raw),
		strings.Trim(fmt.Sprint(raw), "[]"), strings.Trim(strings.TrimPrefix(fmt.Sprintf("%#v", raw), "[]byte"), "{}"),
	}
	type exported struct{ Join Token }
	type unexported struct {
		n    int
		join Token
		s    secret
	}
	type pointer struct{ Join *Token }
	var out []string
	for _, v := range []any{tok, &tok, s, &s, exported{tok}, &exported{tok}, unexported{1, tok, s}, pointer{&tok}, []Token{tok}, map[string]Token{"x": tok}, []any{tok, s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%08b", "%p"} {
			out = append(out, fmt.Sprintf(verb, v))
		}
		if b, err := json.Marshal(v); err == nil {
			out = append(out, string(b))
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("", "a", v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("", "a", v)
		out = append(out, log.String())
	}
	for _, text := range out {
		for _, leak := range leaks {
			if strings.Contains(text, leak) {
				t.Errorf("printed: %q", text)
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if got := fmt.Sprintf(verb, tok); got != hidden {
			t.Errorf("a token with %s: %q", verb, got)
		}
		if got := fmt.Sprintf(verb, s); got != "***" {
			t.Errorf("a secret with %s: %q", verb, got)
		}
	}
	if got := string(must(json.Marshal(exported{tok}))); got != `{"Join":"[join token]"}` {
		t.Errorf("in JSON: %s", got)
	}
}

func TestAProgramsFileHasNoKeyAndANodesHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "join.token")
	made, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + NodeSuffix} {
		if info := must(os.Stat(name)); info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("%s has mode %o", name, info.Mode().Perm())
		}
	}
	if b := must(os.ReadFile(path)); bytes.Contains(b, []byte("\nkey ")) {
		t.Errorf("programs are given the key:\n%s", b)
	}
	program := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(program, must(os.ReadFile(path)), 0o600); err != nil {
		t.Fatal(err)
	}
	copied, err := Read(program)
	if err != nil {
		t.Fatal(err)
	}
	var missing *TokenError
	if _, err := NewTokenServer(copied, Options{}); !errors.As(err, &missing) || !strings.Contains(err.Error(), "copy.node") {
		t.Errorf("a node with a program's file: %v", err)
	}
	beside, alone := must(Read(path)), must(Read(path+NodeSuffix))
	for name, node := range map[string]Token{"made": made, "read": beside, "read alone": alone} {
		n := serve(t, must(NewTokenServer(node, Options{})))
		for _, tok := range []Token{made, copied, beside, alone} {
			if err := n.enter(t, must(NewTokenClient(tok, Options{}))); err != nil {
				t.Errorf("node %s: %v", name, err)
			}
		}
	}
}

func TestNoTokenIsNoCredentials(t *testing.T) {
	var missing *TokenError
	if _, err := NewTokenServer(Token{}, Options{}); !errors.As(err, &missing) {
		t.Errorf("a node: %v", err)
	}
	if _, err := NewTokenClient(Token{}, Options{}); !errors.As(err, &missing) {
		t.Errorf("a program: %v", err)
	}
}

func TestRotatingLeavesProgramsTimeToChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "join.token")
	first := must(Create(path))
	second := must(Rotate(path))
	entersWith := func(node Token, tok Token) error {
		return serve(t, must(NewTokenServer(node, Options{}))).enter(t, must(NewTokenClient(tok, Options{})))
	}
	for name, tok := range map[string]Token{"before": first, "after": second, "read": must(Read(path))} {
		if err := entersWith(must(Read(path)), tok); err != nil {
			t.Errorf("%s the rotation: %v", name, err)
		}
	}
	third := must(Rotate(path))
	wantReason(t, "the first token after two rotations", entersWith(third, first), WrongPin)
	for _, tok := range []Token{second, third} {
		if err := entersWith(must(Read(path)), tok); err != nil {
			t.Error(err)
		}
	}
	// A rotation that was cut short has written the node's file only: programs still have the third.
	program := must(os.ReadFile(path))
	must(Rotate(path))
	if err := os.WriteFile(path, program, 0o600); err != nil {
		t.Fatal(err)
	}
	fifth := must(Rotate(path))
	for _, tok := range []Token{third, fifth} {
		if err := entersWith(fifth, tok); err != nil {
			t.Error(err)
		}
	}
	if left := must(filepath.Glob(filepath.Join(filepath.Dir(path), "*"))); len(left) != 2 {
		t.Errorf("left behind: %q", left)
	}
}

func TestTokensOfTwoNodesAreAcceptedByOne(t *testing.T) {
	older, newer := must(New()), must(New())
	both, err := newer.Accepting(older)
	if err != nil {
		t.Fatal(err)
	}
	n := serve(t, must(NewTokenServer(both, Options{})))
	for _, tok := range []Token{older, newer, both} {
		if err := n.enter(t, must(NewTokenClient(tok, Options{}))); err != nil {
			t.Error(err)
		}
	}
	// The secret of one does not go with the key of the other.
	mixed := withSecret(older, newer.t.own.secret)
	wantReason(t, "the program", n.enter(t, must(NewTokenClient(mixed, Options{}))), WrongToken)
	if _, err := newer.Accepting(Token{}); err == nil {
		t.Error("no token is accepted besides")
	}
}

func TestAFileThatOthersMayReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	path := filepath.Join(t.TempDir(), "join.token")
	must(Create(path))
	for _, name := range []string{path, path + NodeSuffix} {
		for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o601, 0o666} {
			if err := os.Chmod(name, mode); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
				t.Errorf("%s with %o: %v", name, mode, err)
			}
		}
		if err := os.Chmod(name, 0o400); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err != nil {
			t.Error(err)
		}
	}
}

func TestADamagedFileIsRefusedWithItsName(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "join.token")
	must(Create(path))
	must(Create(filepath.Join(dir, "other")))
	program, node := must(os.ReadFile(path)), must(os.ReadFile(path+NodeSuffix))
	other := must(os.ReadFile(filepath.Join(dir, "other")))
	lines := strings.SplitAfter(string(program), "\n")
	cases := map[string][]byte{
		"empty":                 nil,
		"something else":        []byte("hello\n"),
		"a later version":       bytes.Replace(program, []byte("token 1"), []byte("token 2"), 1),
		"without its end":       []byte(strings.Join(lines[:3], "")),
		"without its secret":    []byte(strings.Join(slices.Delete(slices.Clone(lines), 2, 3), "")),
		"a secret too short":    bytes.Replace(program, []byte("secret "), []byte("secret AAAA"), 1),
		"a pin of another":      append(bytes.Clone(node[:bytes.Index(node, []byte("pin"))]), other[bytes.Index(other, []byte("pin")):]...),
		"three tokens":          []byte(string(program) + strings.Join(lines[2:], "") + strings.Join(lines[2:], "")),
		"a line more":           append(bytes.Clone(program), "extra AAAA\n"...),
		"too long":              bytes.Repeat([]byte("# comment\n"), 10_000),
		"one bit, in the pin":   bytes.Replace(node, []byte("pin "), []byte("pin !"), 1),
		"one of another's keys": append(bytes.Clone(other), node[bytes.Index(node, []byte("key")):]...),
	}
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			damaged := filepath.Join(t.TempDir(), "x.token")
			if err := os.WriteFile(damaged, content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(damaged)
			var wrong *TokenError
			if name == "a pin of another" && err == nil {
				return // a program's file like any other: it says whose it is
			}
			if !errors.As(err, &wrong) || wrong.Path != damaged {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), strings.TrimSpace(lines[2][7:])) {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
	if err := os.WriteFile(path, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "does not belong") {
		t.Errorf("beside another node's file: %v", err)
	}
	if _, err := Rotate(path); err == nil {
		t.Error("rotated beside another node's file")
	}
	if _, err := Read(dir); err == nil {
		t.Error("a directory was read")
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}

func TestATokenIsNotWrittenOverAFile(t *testing.T) {
	for _, taken := range []string{"join.token", "join.token.node"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, taken), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(filepath.Join(dir, "join.token")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("over %s: %v", taken, err)
		}
		if got := must(os.ReadFile(filepath.Join(dir, taken))); string(got) != "mine" {
			t.Errorf("%s is %q", taken, got)
		}
	}
}
