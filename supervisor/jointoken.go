package supervisor

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// A JoinToken is a shared secret with the pin of the node's key. It prints as "[join token]", by whatever verb. The zero
// JoinToken is none.
type JoinToken struct {
	secret, pin [32]byte
	path        string // of its file
}

// joinTokenMark begins the file of a token, so that a file of something else is told from one.
const joinTokenMark = "weir-join-1 "

// NewJoinToken makes a token, and the file that ReadJoinToken reads, readable by its owner only. A file that exists is left as
// it is, and is an error that is fs.ErrExist.
func NewJoinToken(path string) (JoinToken, error) {
	t := JoinToken{path: path}
	rand.Read(t.secret[:]) // never fails
	rand.Read(t.pin[:])
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return JoinToken{}, fmt.Errorf("join token: %w", err)
	}
	_, err = f.WriteString(joinTokenMark + hex.EncodeToString(t.secret[:]) + hex.EncodeToString(t.pin[:]) + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return JoinToken{}, fmt.Errorf("join token: %w", errors.Join(err, os.Remove(path)))
	}
	return t, nil
}

// ReadJoinToken reads the file that NewJoinToken made, and refuses one that others may read.
func ReadJoinToken(path string) (JoinToken, error) {
	text, mode, err := readSmallFile(path)
	if err != nil {
		return JoinToken{}, fmt.Errorf("join token: %w", err)
	}
	if mode.Perm()&0o077 != 0 && runtime.GOOS != "windows" { // where the bits say nothing
		return JoinToken{}, fmt.Errorf("join token: others may read %s, its mode is %04o: want 0600", path, mode.Perm())
	}
	t := JoinToken{path: path}
	digits, marked := strings.CutPrefix(strings.TrimSpace(string(text)), joinTokenMark)
	b, err := hex.DecodeString(digits)
	if !marked || err != nil || len(b) != len(t.secret)+len(t.pin) {
		return JoinToken{}, fmt.Errorf("join token: %s is not the file of one", path)
	}
	copy(t.pin[:], b[copy(t.secret[:], b):])
	return t, nil
}

// String hides the token.
func (JoinToken) String() string { return "[join token]" }

// Format hides the token from every verb of package fmt.
func (t JoinToken) Format(s fmt.State, _ rune) { fmt.Fprint(s, t.String()) }

// readSmallFile reads a file of at most 1 MiB. Anything but a file, such as a pipe, might block for ever.
func readSmallFile(path string) ([]byte, fs.FileMode, error) {
	const most = 1 << 20
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a file", path)
	case info.Size() > most:
		return nil, 0, fmt.Errorf("%s has %d bytes, want at most %d", path, info.Size(), most)
	}
	text, err := os.ReadFile(path)
	return text, info.Mode(), err
}
