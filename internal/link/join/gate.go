package join

import (
	"errors"
	"io"
	"net"
	"time"
)

const (
	tokenLimitBytes = 4 << 10
	// Certificates of both sides come with those that signed them; RSA keys and names can make a chain several KiB long.
	tlsLimitBytes = 32 << 10
)

var errOversized = errors.New("it sent too much before it had proved itself")

// A gate is a connection that lets only so many bytes in until its peer has proved itself.
type gate struct {
	net.Conn
	left int  // owned by the reader
	open bool // set before the connection is handed on, read by its reader only
}

// Read reads no more than is left.
func (g *gate) Read(p []byte) (int, error) {
	if g.open {
		return g.Conn.Read(p)
	}
	if g.left == 0 && len(p) > 0 {
		return 0, errOversized
	}
	n, err := g.Conn.Read(p[:min(len(p), g.left)])
	g.left -= n
	return n, err
}

// lingerFor and lingerBytes limit how long a refused peer may take to hear that it is.
const (
	lingerFor   = 250 * time.Millisecond
	lingerBytes = 64 << 10
)

// linger lets the peer read what was sent last. A connection that is closed while there is something unread in it is
// reset, and a reset makes the other end forget what it has not read (RFC 1122, 4.2.2.13).
func linger(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		if half.CloseWrite() != nil {
			return
		}
	}
	conn.SetReadDeadline(time.Now().Add(lingerFor))
	io.Copy(io.Discard, io.LimitReader(conn, lingerBytes))
}
