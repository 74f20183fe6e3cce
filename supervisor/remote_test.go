package supervisor_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// serveNode runs a node on a loopback port until the test ends, and returns its address.
func serveNode(t testing.TB, cfg supervisor.NodeConfig, defs ...stages.Blueprint) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, l, cfg, defs...)
	return "tcp://" + l.Addr().String()
}

// serveOn runs a node on l until the test ends, or the function returned is called, which waits.
func serveOn(t testing.TB, l net.Listener, cfg supervisor.NodeConfig, defs ...stages.Blueprint) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := supervisor.ServeNode(ctx, l, cfg, defs...); err != nil {
			t.Errorf("ServeNode: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

// collectAt deploys p at a placement, and returns what comes of it.
func collectAt[T any](t testing.TB, sup *supervisor.Supervisor, p stages.Pipeline[T], at supervisor.Placement) (got []T, err error) {
	t.Helper()
	run, err := supervisor.Deploy(t.Context(), sup, p, at)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := run.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}()
	for v, err := range run.Items(t.Context()) {
		if err != nil {
			return got, err
		}
		got = append(got, v)
	}
	return got, nil
}

// ways are the ways to use a node: how it is served, and how it is reached.
func ways(t testing.TB) map[string]struct {
	node   supervisor.NodeConfig
	remote supervisor.Remote
} {
	t.Helper()
	dir := t.TempDir()
	token, err := supervisor.NewJoinToken(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	if err := supervisor.NewTestCertificates(dir); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	node, err := supervisor.ReadNodeCertificates(file(supervisor.TestNodeCertFile), file(supervisor.TestNodeKeyFile), file(supervisor.TestCAFile))
	if err != nil {
		t.Fatal(err)
	}
	client, err := supervisor.ReadClientCertificates(file(supervisor.TestClientCertFile), file(supervisor.TestClientKeyFile), file(supervisor.TestCAFile))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]struct {
		node   supervisor.NodeConfig
		remote supervisor.Remote
	}{
		"token":        {supervisor.NodeConfig{Join: token}, supervisor.Remote{Join: token}},
		"certificates": {supervisor.NodeConfig{TLS: node}, supervisor.Remote{TLS: client}},
		"open":         {supervisor.NodeConfig{Open: true}, supervisor.Remote{}},
	}
}

func TestARegionOnANodeGivesWhatItWouldHere(t *testing.T) {
	for name, way := range ways(t) {
		t.Run(name, func(t *testing.T) {
			at := way.remote
			at.Addr = serveNode(t, way.node, doubles)
			for _, on := range []supervisor.Placement{at, supervisor.Pool{Size: 3, Of: at}} {
				got, err := collectAt(t, supervisor.New(supervisor.Config{}), doubles.With(span{5_000, 4}), supervisor.Regions{{From: "double", To: "halve", On: on}})
				if err != nil {
					t.Fatal(err)
				}
				checkCount(t, got, 5_000)
			}
		})
	}
}
