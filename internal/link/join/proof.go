package join

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
)

const (
	protocol      = "weir-join/1" // for ALPN
	exporterLabel = "EXPORTER-weir-join-v1"
	exporterBytes = 32

	magic        = "weir-join"
	version      = 1
	messageBytes = len(magic) + 2 + sha256.Size
)

// A kind is what a message is.
type kind byte

const (
	programProof kind = 'p'
	nodeProof    kind = 'n'
	refusal      kind = 'r'
)

// label differs by side, so that a proof cannot be sent back to whoever made it.
func (k kind) label() string {
	if k == nodeProof {
		return "weir-join-v1 node"
	}
	return "weir-join-v1 program"
}

var (
	errNoMessage    = errors.New("not a message of the join protocol")
	errVersion      = errors.New("another version of the join protocol")
	errNoneExpected = errors.New("a message of the join protocol at the wrong time")
)

// A message is what each side sends once.
type message struct {
	kind  kind
	proof [sha256.Size]byte // zeros in a refusal
}

func (m message) append(b []byte) []byte {
	b = append(b, magic...)
	b = append(b, version, byte(m.kind))
	return append(b, m.proof[:]...)
}

// parseMessage reads a message of exactly messageBytes.
func parseMessage(b []byte) (message, error) {
	if len(b) != messageBytes || string(b[:len(magic)]) != magic {
		return message{}, errNoMessage
	}
	rest := b[len(magic):]
	if rest[0] != version {
		return message{}, errVersion
	}
	m := message{kind: kind(rest[1])}
	copy(m.proof[:], rest[2:])
	switch {
	case m.kind == programProof || m.kind == nodeProof:
	case m.kind == refusal && m.proof == [sha256.Size]byte{}:
	default:
		return message{}, errNoMessage
	}
	return m, nil
}

// readMessage reads not one byte more than a message: what follows is gRPC's.
func readMessage(r io.Reader) (message, error) {
	var b [messageBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return message{}, err
	}
	return parseMessage(b[:])
}

func (m message) writeTo(w io.Writer) error {
	_, err := w.Write(m.append(make([]byte, 0, messageBytes)))
	return err
}

// prove makes the message that proves, on this connection only, that its sender knows the secret.
func (s secret) prove(k kind, state tls.ConnectionState) (message, error) {
	exporter, err := state.ExportKeyingMaterial(exporterLabel, nil, exporterBytes)
	if err != nil {
		return message{}, err
	}
	return message{k, [sha256.Size]byte(s.mac(k.label(), exporter))}, nil
}

// proves compares in constant time.
func (m message) proves(want message) bool {
	return m.kind == want.kind && hmac.Equal(m.proof[:], want.proof[:])
}
