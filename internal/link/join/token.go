package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"time"
)

// hidden is what a token prints as.
const hidden = "[join token]"

// A Token is what lets programs deploy on a node, and lets them know the node. The zero Token is none. It prints as
// "[join token]", also inside of other values, in JSON, and in logs.
type Token struct{ t *token }

// token is immutable.
type token struct {
	path     string   // where it was read; "" for one that was not
	own      identity // what a program shows
	accepted []identity
	keyless  error // why there is no key; nil if there is one
}

// An identity is a secret and the pin of a key, on the node with the key.
type identity struct {
	secret secret
	pin    [sha256.Size]byte // of the key's SubjectPublicKeyInfo
	key    *ecdsa.PrivateKey // nil in what programs have
}

// newIdentity makes a secret and a key.
func newIdentity() (identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, err
	}
	return identityOf(newSecret(), key)
}

func identityOf(s secret, key *ecdsa.PrivateKey) (identity, error) {
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return identity{}, err
	}
	return identity{s, sha256.Sum256(spki), key}, nil
}

// same reports whether two identities have the same key. It compares nothing secret.
func (id identity) same(other identity) bool { return id.pin == other.pin }

// name is what a program asks a node for: a node that accepts two tokens shows the key of that one. The pin is no
// secret.
func (id identity) name() string { return "join-" + hex.EncodeToString(id.pin[:8]) + ".weir.invalid" }

// certificate signs the key with itself. Programs look at nothing but the key, so dates and names mean nothing.
func (id identity) certificate() (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "weir node"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // "no date", RFC 5280, 4.1.2.5
		DNSNames:     []string{id.name()},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &id.key.PublicKey, id.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("sign the node's key: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: id.key}, nil
}

// New makes a token that is in no file, for both sides: for tests, and programs that start their own nodes.
func New() (Token, error) {
	id, err := newIdentity()
	if err != nil {
		return Token{}, &TokenError{Reason: "cannot be made", Err: err}
	}
	return Token{&token{own: id, accepted: []identity{id}}}, nil
}

// IsZero reports whether t is no token.
func (t Token) IsZero() bool { return t.t == nil }

// Accepting returns t for a node that is also to accept another token's bearers, while it is being replaced. Of each
// token only the newest part counts. Both must have the node's key.
func (t Token) Accepting(older Token) (Token, error) {
	for _, one := range []Token{t, older} {
		if err := one.serves(); err != nil {
			return Token{}, err
		}
	}
	both := *t.t
	both.accepted = []identity{t.t.accepted[0], older.t.accepted[0]}
	return Token{&both}, nil
}

// serves returns nil if a node can use t, or what is missing.
func (t Token) serves() error {
	switch {
	case t.IsZero():
		return &TokenError{Reason: "none was given"}
	case t.t.keyless != nil:
		return t.t.keyless
	}
	return nil
}

// Format prints "[join token]" whatever the verb.
func (Token) Format(f fmt.State, _ rune) { io.WriteString(f, hidden) }

// String hides the token.
func (Token) String() string { return hidden }

// MarshalText hides the token from JSON and other encodings.
func (Token) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the token from slog.
func (Token) LogValue() slog.Value { return slog.StringValue(hidden) }
