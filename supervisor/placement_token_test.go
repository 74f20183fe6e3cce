package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func newToken(t *testing.T, name string) JoinToken {
	t.Helper()
	token, err := NewJoinToken(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// named is p with no more of its tokens than where they are from, since tokens cannot be compared.
func named(p Placement) Placement {
	switch p := p.(type) {
	case Remote:
		p.Join = JoinToken{path: p.Join.path}
		return p
	case Pool:
		p.Of = named(p.Of)
		return p
	case Regions:
		p = slices.Clone(p)
		for i := range p {
			p[i].On = named(p[i].On)
		}
		return p
	}
	return p
}

func TestATokenIsReadAsItWasMade(t *testing.T) {
	token := newToken(t, "token")
	got, err := ReadJoinToken(token.path)
	if err != nil || got.path != token.path || got == (JoinToken{}) {
		t.Fatalf("got %v, %v", got, err)
	}
	if _, err := NewJoinToken(token.path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that exists: %v", err)
	}
	_, err = ReadJoinToken(token.path + "x")
	var wrong *TokenError
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &wrong) || wrong.Path != token.path+"x" {
		t.Errorf("a file that does not exist: %v", err)
	}
	if _, err := ReadJoinToken(filepath.Dir(token.path)); err == nil {
		t.Error("a directory is a token")
	}
	if _, err := RotateJoinToken(token.path); err != nil {
		t.Error(err)
	}
}

func TestATokenIsNotShown(t *testing.T) {
	token := newToken(t, "token")
	text, err := os.ReadFile(token.path)
	if err != nil {
		t.Fatal(err)
	}
	p := Remote{Addr: "tcp://h:1", Join: token}
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "% X", "%d", "%b", "%t"} {
		for _, v := range []any{token, &token, p, &p, Regions{{"a", "b", Pool{2, p}}}, NodeConfig{Join: token}} {
			fmt.Fprintf(&shown, verb, v)
		}
	}
	inJSON, err := json.Marshal([]any{token, p, map[string]any{"t": token}})
	if err != nil {
		t.Fatal(err)
	}
	shown.Write(inJSON)
	slog.New(slog.NewTextHandler(&shown, nil)).Info("m", "token", token, "p", p)
	slog.New(slog.NewJSONHandler(&shown, nil)).Info("m", "token", token, "p", p)
	for line := range strings.Lines(string(text)) {
		word, secret, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "secret" && strings.Contains(shown.String(), secret) {
			t.Errorf("%q is in %s", secret, &shown)
		}
	}
	if n := strings.Count(shown.String(), "[join token]"); n < 20 {
		t.Errorf("%d tokens are named in %s", n, &shown)
	}
}

func TestATokenThatOthersMayReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the mode of a file says nothing")
	}
	token := newToken(t, "token")
	for _, mode := range []fs.FileMode{0o604, 0o640, 0o660, 0o602} {
		if err := os.Chmod(token.path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := ParsePlacement("tcp://h:1?join=" + escape(token.path))
		if want := fmt.Sprintf("others may read or change it (mode %04o)", mode); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := os.Chmod(token.path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadJoinToken(token.path); err != nil {
		t.Error(err)
	}
}

func TestAFileThatIsNoTokenIsRefused(t *testing.T) {
	token := newToken(t, "token")
	text, err := os.ReadFile(token.path)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"empty": {}, "short": text[:len(text)-3], "long": bytes.Repeat([]byte{'0'}, 2<<20), "another": []byte("-----BEGIN PRIVATE KEY-----"),
		"longer": append(bytes.TrimSpace(text), '0', '0'), "not base64": append(text[:len(text)-3], '!', '!'),
	} {
		if err := os.WriteFile(token.path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadJoinToken(token.path); err == nil || got != (JoinToken{}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
