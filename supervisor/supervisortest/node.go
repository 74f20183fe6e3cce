package supervisortest

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// node is the whole graph on a node that is started for the test, if it can be there.
func node(t testing.TB, def stages.Blueprint, check func(supervisor.Placement) error) (supervisor.Placement, error) {
	t.Helper()
	if err := check(supervisor.Remote{Addr: "tcp://localhost:7433"}); err != nil {
		return supervisor.Remote{Addr: "tcp://localhost"}, err // of which no port was taken
	}
	token, err := supervisor.NewJoinToken(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := supervisor.Remote{Addr: "tcp://" + l.Addr().String(), Join: token}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	// Owner: the test. Ends with it, when its cleanup ends ctx. The cleanup waits.
	go func() {
		defer close(ended)
		if err := supervisor.ServeNode(ctx, l, supervisor.NodeConfig{Join: token}, def); err != nil {
			t.Errorf("the node at %v: %v", at, err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return at, check(at)
}
