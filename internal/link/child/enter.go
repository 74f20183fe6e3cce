package child

import (
	"net"
	"os"
)

// A Child is this process, if Start started it.
type Child struct {
	conn  net.Conn
	files []*os.File
}

// Conn returns this side's end of the connection.
func (c *Child) Conn() net.Conn { return c.conn }

// Files returns what Spec.Files was at the parent. They are closed on exec here.
func (c *Child) Files() []*os.File { return c.files }
