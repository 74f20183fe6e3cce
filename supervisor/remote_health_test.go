package supervisor_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/weirflow/weir/supervisor"
)

func TestANodeAnswersTheStandardHealthCheck(t *testing.T) {
	way := ways(t)["certificates"]
	addr := strings.TrimPrefix(serveNode(t, way.node, doubles), "tcp://")
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(credentials.NewTLS(way.remote.TLS)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	got, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil || got.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", got, err)
	}
}

func TestANodeThatDoesNotSayWhoMayUseItIsRefused(t *testing.T) {
	both := ways(t)["token"].node
	both.Open = true
	for name, cfg := range map[string]supervisor.NodeConfig{"nobody": {}, "two ways": both, "fewer than no runs": {Open: true, MaxRuns: -1}} {
		l := newPipeNet().listen(addr1)
		if err := supervisor.ServeNode(t.Context(), l, cfg, doubles); err == nil || !strings.Contains(err.Error(), "NodeConfig") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
