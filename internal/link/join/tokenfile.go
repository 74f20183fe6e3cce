package join

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// NodeSuffix is what the name of a node's own file has behind that of the file for programs.
const NodeSuffix = ".node"

const (
	tokenHeader       = "weir-join-token 1"
	maxTokenFileBytes = 16 << 10
	maxAccepted       = 2
)

// Create makes a token in two files that only their owner can read. path is for programs that deploy: it has the secret
// and the pin of the node's key. path.node stays where the node is: it has the key too. Whoever has the first can
// deploy on the node, but cannot pass for it. Files that exist are left alone: the error is then fs.ErrExist.
func Create(path string) (Token, error) {
	for _, name := range []string{path, path + NodeSuffix} {
		if _, err := os.Lstat(name); err == nil {
			return Token{}, &TokenError{name, "remove it first, or rotate it", fs.ErrExist}
		}
	}
	id, err := newIdentity()
	if err != nil {
		return Token{}, &TokenError{path, "cannot be made", err}
	}
	return save(path, id)
}

// Rotate replaces a token that Create made. The node's file then has the new token and the one before: a node that reads it
// accepts both, so that programs can be given the new file one after the other. Rotating again ends the older one.
// A token that has leaked is not rotated: remove its files and make another one.
func Rotate(path string) (Token, error) {
	old, err := Read(path)
	if err != nil {
		return Token{}, err
	}
	if err := old.serves(); err != nil {
		return Token{}, err
	}
	id, err := newIdentity()
	if err != nil {
		return Token{}, &TokenError{path, "cannot be made", err}
	}
	// The token that programs have now is that of their file, also if a rotation was cut short.
	for _, before := range old.t.accepted {
		if before.same(old.t.own) {
			return save(path, id, before)
		}
	}
	return Token{}, strangers(path)
}

// save writes the node's file first: whatever happens between the two, the node accepts what programs have.
func save(path string, ids ...identity) (Token, error) {
	node, err := format(nodeComment, ids...)
	if err != nil {
		return Token{}, &TokenError{path, "cannot be written", err}
	}
	program := ids[0]
	program.key = nil
	public, err := format(programComment, program)
	if err != nil {
		return Token{}, &TokenError{path, "cannot be written", err}
	}
	if err := replace(path+NodeSuffix, node); err != nil {
		return Token{}, &TokenError{path + NodeSuffix, "cannot be written", err}
	}
	if err := replace(path, public); err != nil {
		return Token{}, &TokenError{path, "cannot be written", err}
	}
	return Token{&token{path: path, own: ids[0], accepted: ids}}, nil
}

// replace puts a file in place as a whole or not at all. CreateTemp makes files that only their owner can read.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".weir-join-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it has its name
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Read reads a token. Where path.node lies beside path, as it does where both were made, the token serves a node
// too, so that a node and a program read it by the same name; a node's file may also be read alone. A file that others than its
// owner may read is refused (on Windows, which has no such modes, the folder's permissions are what protects it).
// The error is a *TokenError.
func Read(path string) (Token, error) {
	ids, err := readFile(path)
	if err != nil {
		return Token{}, err
	}
	t := &token{path: path, own: ids[0], accepted: ids}
	if ids[0].key != nil {
		return Token{t}, nil
	}
	nodePath := path + NodeSuffix
	accepted, err := readFile(nodePath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.keyless = &TokenError{path, fmt.Sprintf("it is for programs that deploy: a node needs %q beside it", nodePath), nil}
		return Token{t}, nil
	case errors.Is(err, fs.ErrPermission):
		// Somebody else's node: this is a program that deploys.
		t.keyless = err
		return Token{t}, nil
	case err != nil:
		return Token{}, err
	}
	for _, id := range accepted {
		if id.key == nil {
			return Token{}, &TokenError{nodePath, "it has no key: it is not a node's file", nil}
		}
		if id.same(ids[0]) {
			t.accepted = accepted
			return Token{t}, nil
		}
	}
	return Token{}, strangers(path)
}

func strangers(path string) error {
	return &TokenError{path, fmt.Sprintf("it does not belong to %q beside it", path+NodeSuffix), nil}
}

func readFile(path string) ([]identity, error) {
	info, err := os.Stat(path) // before opening: opening a pipe would wait for its writer
	if err == nil && !info.Mode().IsRegular() {
		return nil, &TokenError{path, "not a file", nil}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &TokenError{path, "", err}
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, &TokenError{path, "", err}
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, &TokenError{path, fmt.Sprintf("others may read or change it (mode %04o): chmod 600 it, and make another one if they had the time to", mode), nil}
	}
	content, err := io.ReadAll(io.LimitReader(f, maxTokenFileBytes+1))
	if err != nil {
		return nil, &TokenError{path, "", err}
	}
	ids, err := parse(content)
	if err != nil {
		return nil, &TokenError{path, err.Error(), nil}
	}
	return ids, nil
}

const (
	programComment = "# For programs that deploy on the node. Whoever has this file may run the node's pipelines: keep it secret."
	nodeComment    = "# For the node alone: it has the node's private key. Give programs the file without " + NodeSuffix + " instead."
)

// format writes identities as lines of text: those that the header and three words begin.
func format(comment string, ids ...identity) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s\n", comment, tokenHeader)
	for _, id := range ids {
		fmt.Fprintf(&b, "secret %s\n", base64.StdEncoding.EncodeToString(id.secret.reveal()[:]))
		fmt.Fprintf(&b, "pin %s\n", base64.StdEncoding.EncodeToString(id.pin[:]))
		if id.key == nil {
			continue
		}
		der, err := x509.MarshalPKCS8PrivateKey(id.key)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "key %s\n", base64.StdEncoding.EncodeToString(der))
	}
	return b.Bytes(), nil
}

// parse reads what format wrote. Its errors name lines, and nothing of what is in them.
func parse(content []byte) ([]identity, error) {
	if len(content) > maxTokenFileBytes {
		return nil, fmt.Errorf("not a join token: more than %d bytes", maxTokenFileBytes)
	}
	var ids []identity
	var pins int
	header, line := false, 0
	for s := bufio.NewScanner(bytes.NewReader(content)); s.Scan(); {
		line++
		text := strings.TrimSpace(s.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if !header {
			if text != tokenHeader {
				return nil, fmt.Errorf("not a join token: line %d is not %q", line, tokenHeader)
			}
			header = true
			continue
		}
		word, encoded, _ := strings.Cut(text, " ")
		value, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(encoded))
		if err != nil {
			return nil, fmt.Errorf("line %d is damaged", line)
		}
		last := len(ids) - 1
		switch {
		case word == "secret" && len(value) == secretBytes && pins == len(ids) && len(ids) < maxAccepted:
			ids = append(ids, identity{secret: secretOf([secretBytes]byte(value))})
		case word == "pin" && len(value) == sha256.Size && pins == last:
			copy(ids[last].pin[:], value)
			pins++
		case word == "key" && pins == len(ids) && pins > 0 && ids[last].key == nil:
			if ids[last], err = withKey(ids[last], value); err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
		default:
			return nil, fmt.Errorf("line %d is damaged, or from a later version", line)
		}
	}
	if len(ids) == 0 || pins != len(ids) {
		return nil, errors.New("not a join token, or a part of one")
	}
	return ids, nil
}

func withKey(id identity, der []byte) (identity, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok || key.Curve != elliptic.P256() {
		return id, errors.New("the key is damaged")
	}
	full, err := identityOf(id.secret, key)
	if err != nil || !full.same(id) {
		return id, errors.New("the key is not that of the pin")
	}
	return full, nil
}
