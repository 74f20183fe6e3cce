package supervisor

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

func TestATokenIsReadAsItWasMade(t *testing.T) {
	token := newToken(t, "token")
	got, err := ReadJoinToken(token.path)
	if err != nil || got != token || got == (JoinToken{}) {
		t.Fatalf("got %v, %v", got, err)
	}
	if other := newToken(t, "token"); other.secret == token.secret {
		t.Error("two tokens are the same")
	}
	if _, err := NewJoinToken(token.path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that exists: %v", err)
	}
	if _, err := ReadJoinToken(token.path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	if _, err := ReadJoinToken(filepath.Dir(token.path)); err == nil {
		t.Error("a directory is a token")
	}
}

func TestATokenIsNotShown(t *testing.T) {
	token := newToken(t, "token")
	p := Remote{Addr: "tcp://h:1", Join: token}
	shown := ""
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "% X", "%d", "%b", "%t"} {
		shown += fmt.Sprintf(verb, token) + fmt.Sprintf(verb, p) + fmt.Sprintf(verb, &p) + fmt.Sprintf(verb, Regions{{"a", "b", Pool{2, p}}})
	}
	text, err := json.Marshal([]any{token, p})
	if err != nil {
		t.Fatal(err)
	}
	shown += string(text)
	for _, secret := range []string{string(token.secret[:4]), hex.EncodeToString(token.secret[:4]), fmt.Sprint(token.secret[:4]), fmt.Sprintf("%#v", token.secret[:4])[7:]} {
		if strings.Contains(strings.ToLower(shown), secret) {
			t.Errorf("%q is in %s", secret, shown)
		}
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
		if want := fmt.Sprintf("others may read %s, its mode is %04o: want 0600", token.path, mode); err == nil || !strings.HasSuffix(err.Error(), want) {
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
		"longer": append(bytes.TrimSpace(text), '0', '0'), "not hexadecimal": append(text[:len(text)-3], 'x', 'x'),
	} {
		if err := os.WriteFile(token.path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadJoinToken(token.path); err == nil || got != (JoinToken{}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
