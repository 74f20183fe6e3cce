package supervisor

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/weirflow/weir/internal/link/join"
)

// A JoinToken is a shared secret with the pin of the node's key. It prints as "[join token]", by whatever verb, and in
// JSON and logs. The zero JoinToken is none.
type JoinToken struct {
	token join.Token
	path  string // of its file; "" if it is in none
}

// NewJoinToken makes a token in two files that only their owner can read: path for programs that deploy, and path.node,
// with the node's private key, which stays where the node is. Files that exist are left alone, and are an error that is
// fs.ErrExist. Errors are *TokenError.
func NewJoinToken(path string) (JoinToken, error) { return joinToken(path, join.Create) }

// ReadJoinToken reads the file that NewJoinToken made, and refuses one that others may read. A node needs path.node
// beside it; a program does not. Errors are *TokenError.
func ReadJoinToken(path string) (JoinToken, error) { return joinToken(path, join.Read) }

// RotateJoinToken replaces the token in path and path.node. A node that reads it afterwards accepts the new token and the one
// before, so that programs can be given the new file one after the other; rotating again ends the older one. A token that has
// leaked is not rotated: remove its files, and make another one. Errors are *TokenError.
func RotateJoinToken(path string) (JoinToken, error) { return joinToken(path, join.Rotate) }

func joinToken(path string, from func(string) (join.Token, error)) (JoinToken, error) {
	t, err := from(path)
	if err != nil {
		return JoinToken{}, tokenError(err)
	}
	return JoinToken{t, path}, nil
}

// String hides the token.
func (JoinToken) String() string { return join.Token{}.String() }

// Format hides the token from every verb of package fmt.
func (t JoinToken) Format(f fmt.State, _ rune) { io.WriteString(f, t.String()) }

// MarshalText hides the token from JSON and other encodings.
func (t JoinToken) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LogValue hides the token from slog.
func (t JoinToken) LogValue() slog.Value { return slog.StringValue(t.String()) }

// The names of the files that NewTestCertificates writes.
const (
	TestCAFile         = join.CAFile         // the authority, for both sides
	TestNodeCertFile   = join.NodeCertFile   // for the node
	TestNodeKeyFile    = join.NodeKeyFile    // for the node alone
	TestClientCertFile = join.ClientCertFile // for programs that deploy
	TestClientKeyFile  = join.ClientKeyFile  // for programs that deploy, alone
)

// NewTestCertificates writes certificates for a first try into a directory, which it makes if it is not there: an authority, a
// certificate of a node that is reached as hosts (names or IP addresses; none means localhost, 127.0.0.1 and ::1), and
// one of a program, with their keys, which only their owner can read. They are valid for 30 days. The authority's key is in no
// file, so nobody can sign more in its name. Files that exist are left alone: the error is then fs.ErrExist.
func NewTestCertificates(dir string, hosts ...string) error {
	return join.MakeCertificates(dir, hosts...)
}

// ReadNodeCertificates returns NodeConfig.TLS from three files (PEM): the node's certificate, its key, and the authorities
// of the programs that it lets in.
func ReadNodeCertificates(certFile, keyFile, caFile string) (*tls.Config, error) {
	return join.LoadNode(certFile, keyFile, caFile)
}

// ReadClientCertificates returns Remote.TLS from three files (PEM): the program's certificate, its key, and the authorities
// of the nodes that it trusts.
func ReadClientCertificates(certFile, keyFile, caFile string) (*tls.Config, error) {
	return join.LoadClient(certFile, keyFile, caFile)
}

// A TokenError says what is wrong with a join token or its file.
type TokenError struct {
	Path   string // "" if the token is not from a file
	Reason string
	Err    error // what the operating system said; nil if it said nothing
}

// Error names the file. It has no secrets in it.
func (e *TokenError) Error() string {
	return (&join.TokenError{Path: e.Path, Reason: e.Reason, Err: e.Err}).Error()
}

// Unwrap returns Err.
func (e *TokenError) Unwrap() error { return e.Err }

func tokenError(err error) error {
	if e, ok := errors.AsType[*join.TokenError](err); ok {
		return &TokenError{e.Path, e.Reason, e.Err}
	}
	return err
}

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
