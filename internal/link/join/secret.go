package join

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
)

const secretBytes = 32

// A secret is what both sides know. However it is printed or encoded, it is "***": it has a value only for mac and for its file.
// It is in a function because fmt prints what it finds in unexported fields without asking their methods, and follows
// pointers for some verbs.
type secret struct{ reveal func() *[secretBytes]byte }

func newSecret() secret {
	var b [secretBytes]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process if it would
	return secretOf(b)
}

func secretOf(b [secretBytes]byte) secret {
	return secret{func() *[secretBytes]byte { return &b }}
}

func (s secret) mac(label string, exporter []byte) []byte {
	m := hmac.New(sha256.New, s.reveal()[:])
	io.WriteString(m, label)
	m.Write(exporter)
	return m.Sum(nil)
}

// Format hides the secret from every verb.
func (secret) Format(f fmt.State, _ rune) { io.WriteString(f, "***") }

// String hides the secret.
func (secret) String() string { return "***" }

// MarshalText hides the secret from JSON and other encodings.
func (secret) MarshalText() ([]byte, error) { return []byte("***"), nil }

// LogValue hides the secret from slog.
func (secret) LogValue() slog.Value { return slog.StringValue("***") }
