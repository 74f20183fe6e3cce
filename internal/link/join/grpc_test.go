package join

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
)

// host runs a real gRPC server, whose health service everybody who is let in can ask.
func host(t *testing.T, creds func(*testNode) credentials.TransportCredentials, methods chan string) *testNode {
	l := listen(t)
	n := &testNode{addr: l.Addr().String()}
	s := grpc.NewServer(grpc.Creds(creds(n)), grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		p, _ := peer.FromContext(ctx)
		methods <- p.AuthInfo.AuthType()
		return next(ctx, req)
	}))
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return n
}

func (n *testNode) ask(t *testing.T, creds credentials.TransportCredentials) error {
	conn, err := grpc.NewClient("passthrough:///"+n.addr, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	return err
}

func TestGRPCRunsOverEachMethod(t *testing.T) {
	tok, p := must(New()), newPKI("ours")
	methods := make(chan string, 10)
	token := func(*testNode) credentials.TransportCredentials { return must(NewTokenServer(tok, Options{})) }
	mutual := func(*testNode) credentials.TransportCredentials {
		return must(NewTLSServer(p.nodeConfig(), Options{}))
	}
	loopback := func(*testNode) credentials.TransportCredentials { return newServer(open{}, Options{}) }
	// The standard health probe knows nothing of weir: with certificates it is let in.
	probe := p.clientConfig()
	probe.ServerName = "localhost"
	good := []struct {
		name    string
		server  func(*testNode) credentials.TransportCredentials
		program credentials.TransportCredentials
		method  string
	}{
		{"token", token, must(NewTokenClient(tok, Options{})), "weir-token"},
		{"tls", mutual, must(NewTLSClient(p.clientConfig(), Options{})), "weir-tls"},
		{"open", loopback, NewOpenClient(Options{}), "weir-open"},
		{"tls, and a client that is not ours", mutual, credentials.NewTLS(probe), "weir-tls"},
	}
	for _, c := range good {
		t.Run(c.name, func(t *testing.T) {
			if err := host(t, c.server, methods).ask(t, c.program); err != nil {
				t.Fatal(err)
			}
			if got := <-methods; got != c.method {
				t.Errorf("the node says %q", got)
			}
		})
	}
	bad := []struct {
		name    string
		server  func(*testNode) credentials.TransportCredentials
		program *Client
		want    Reason
	}{
		{"another token", token, must(NewTokenClient(withSecret(tok, newSecret()), Options{})), WrongToken},
		{"a token of another node", token, must(NewTokenClient(must(New()), Options{})), WrongPin},
		{"an unknown authority", mutual, must(NewTLSClient(newPKI("theirs").clientConfig(), Options{})), WrongCA},
		{"a token where certificates are wanted", mutual, must(NewTokenClient(tok, Options{})), WrongMethod},
		{"a token where nothing is wanted", loopback, must(NewTokenClient(tok, Options{})), Plaintext},
	}
	for _, c := range bad {
		t.Run(c.name, func(t *testing.T) {
			err := host(t, c.server, methods).ask(t, c.program)
			var e *AuthError
			if !errors.As(c.program.Err(), &e) {
				t.Fatalf("Err is %v, gRPC says %v", c.program.Err(), err)
			}
			wantReason(t, "the program", e, c.want)
			if !strings.Contains(err.Error(), e.Reason.String()) {
				t.Errorf("gRPC says %v", err)
			}
		})
	}
	t.Run("nothing where a token is wanted", func(t *testing.T) {
		err := host(t, token, methods).ask(t, NewOpenClient(Options{}))
		if err == nil || !strings.Contains(err.Error(), "join token or certificates") {
			t.Errorf("gRPC says %v", err)
		}
	})
}
