package supervisor_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/supervisor"
)

// Bytes may come one by one, and slowly: the output is the same, and a node of which bytes come is not taken for dead.
func TestF20ASlowLinkIsNoDeadOne(t *testing.T) {
	token, err := supervisor.NewJoinToken(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		bytes, items int
		pause        time.Duration
		node         supervisor.NodeConfig
		at           supervisor.Remote
		least        time.Duration
	}{
		"byte by byte":           {bytes: 1, items: 500, node: supervisor.NodeConfig{Open: true}},
		"byte by byte, TLS":      {bytes: 1, items: 500, node: supervisor.NodeConfig{Join: token}, at: supervisor.Remote{Join: token}},
		"1 kB/s":                 {bytes: 1, items: 3000, pause: time.Millisecond, node: supervisor.NodeConfig{Open: true}, least: 30 * time.Second},
		"4 kB/s, TLS":            {bytes: 4, items: 3000, pause: time.Millisecond, node: supervisor.NodeConfig{Join: token}, at: supervisor.Remote{Join: token}, least: 10 * time.Second},
		"packets of 100, 2 kB/s": {bytes: 100, items: 3000, pause: 50 * time.Millisecond, node: supervisor.NodeConfig{Open: true}, least: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newPipeNet()
				n.bytes, n.pause = c.bytes, c.pause
				def := working(c.items, func(_ context.Context, v int) (int, error) { return v, nil })
				stop, _ := n.serve(t, addr1, c.node, def)
				defer stop()
				c.at.Addr = "tcp://" + addr1
				var e events
				begun := time.Now()
				got, err := collectAt(t, remoteSup(n, &e, 1), def.With(span{c.items, 3}), onRegion(c.at))
				if err != nil {
					t.Fatal(err)
				}
				took := time.Since(begun)
				checkCount(t, got, c.items)
				for _, gone := range eventsOf[supervisor.NodeRestarted](&e) {
					t.Errorf("taken for dead: %v", gone.Err)
				}
				if t.Logf("it took %v", took); took < c.least {
					t.Errorf("it took %v, want at least %v", took, c.least)
				}
			})
		})
	}
}
