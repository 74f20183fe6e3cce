package link

import (
	"context"
	"math"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

const (
	service = "weir.Link"
	method  = "/weir.Link/Open"

	// answerTimeout is how long a node may take to answer Open, from dialling on.
	answerTimeout = 5 * time.Second
	// attemptTimeout is how long gRPC tries to connect, and how long it waits before it would try again: longer than
	// anybody waits for it.
	attemptTimeout = 2 * answerTimeout

	// windowBytes is how much may be under way on a stream. Smaller windows that do not adapt are slower; larger ones are
	// not faster.
	windowBytes = 4 << 20
	bufferBytes = 128 << 10 // of reads and writes

	headerBytes = 4 << 10  // of requests: the link has none of its own
	statusBytes = 64 << 10 // of responses
)

// opener is the type of the service, for gRPC.
type opener interface {
	open(s grpc.ServerStream) error
}

func streamDesc() grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: "Open", ServerStreams: true, ClientStreams: true,
		Handler: func(srv any, s grpc.ServerStream) error { return srv.(opener).open(s) }}
}

func serviceDesc() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{ServiceName: service, HandlerType: (*opener)(nil), Streams: []grpc.StreamDesc{streamDesc()}}
}

// serverOptions are those of every node.
func serverOptions(cfg Config) []grpc.ServerOption {
	handshake := cfg.Limits.Opening
	if cfg.Local {
		handshake = time.Hour // the parent may be stopped as well
	}
	return []grpc.ServerOption{
		grpc.Creds(cfg.Credentials), grpc.ForceServerCodecV2(passThrough{}),
		grpc.MaxRecvMsgSize(maxBatch), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.MaxConcurrentStreams(uint32(cfg.Limits.Streams)),
		grpc.ConnectionTimeout(handshake), grpc.MaxHeaderListSize(headerBytes),
		grpc.StaticStreamWindowSize(windowBytes), grpc.StaticConnWindowSize(windowBytes),
		grpc.WriteBufferSize(bufferBytes), grpc.ReadBufferSize(bufferBytes),
		// The link has its own sign of life. A peer that uses gRPC's as well does no harm.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: math.MaxInt64}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	}
}

// dialOptions are those of every coordinator.
func dialOptions(dial func(context.Context) (net.Conn, error), creds credentials.TransportCredentials) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }),
		grpc.WithNoProxy(), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithDisableHealthCheck(),
		grpc.WithIdleTimeout(0),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: attemptTimeout, Multiplier: 1, MaxDelay: attemptTimeout},
			MinConnectTimeout: attemptTimeout,
		}),
		grpc.WithMaxHeaderListSize(statusBytes),
		grpc.WithStaticStreamWindowSize(windowBytes), grpc.WithStaticConnWindowSize(windowBytes),
		grpc.WithWriteBufferSize(bufferBytes), grpc.WithReadBufferSize(bufferBytes),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(passThrough{}), grpc.StaticMethod(),
			grpc.MaxCallRecvMsgSize(maxBatch), grpc.MaxCallSendMsgSize(math.MaxInt32)),
	}
}
