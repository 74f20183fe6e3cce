// Package link carries the messages of package wire between a coordinator, which deploys a pipeline, and a node, which
// hosts regions of it: over a pair of sockets to a child process, over TLS to a program on another machine.
//
// # Usage
//
// A coordinator dials, and opens one session for each incarnation of a copy of a region:
//
//	conn, err := link.Dial(ctx, link.Target{Dial: dial, Credentials: credentials})
//	session, ready, err := conn.Open(ctx, &wire.Open{...})
//	err = session.Send(&wire.Task{...})
//	m, err := session.Recv()
//
// A node serves, and decides about each session in its handler:
//
//	err := link.Serve(ctx, listener, link.Config{Handle: func(ctx context.Context, s *link.Session, open *wire.Open) {
//		err := s.Accept(&wire.Ready{...})
//		...
//	}})
//
// To end a session without losing its tail, the coordinator calls CloseSend and receives until io.EOF; only then does it
// close the session or the connection. The node's session ends with its handler, after everything that was sent has left.
//
// # The protocol
//
// A session is one bidirectional stream of gRPC, method /weir.Link/Open; the coordinator is the client. The codec passes
// bytes through. A message of gRPC has one or more messages of package wire, each behind its length (4 bytes, little
// endian): what waits together travels together. The first message in each direction is Open, answered by Ready or
// Refuse within 5 s. Then each side sends what its role may send; anything else ends the session with a *ProtocolError.
//
// Any byte read from a connection is life. A side that has read nothing, or written nothing, for 2 s sends Ping, which
// is answered by Pong; after 10 s without a byte the session ends with ErrSilent. Time is counted in ticks of this
// process, so that one that was stopped itself does not blame its peer. A link to a child has no such limit: a child
// that was stopped is not dead, and one that is dead is known to whoever waits for its process.
//
// # Concurrency
//
// Send, CloseSend, Close and Done may be called by anybody at any time, Recv by one goroutine at a time. Recv must be
// called all the time, since it answers Ping as well, and since what is not received fills the window (4 MiB) of the
// stream, behind which the peer's messages wait in its memory.
//
// # Failure
//
// Every error of a session is *RefusedError, *ProtocolError, *TooLargeError, *LostError, ErrNoAnswer, ErrSilent,
// ErrClosed, ErrNotOpen, io.EOF, or the error of a context. A session does not come back: the next incarnation opens
// another one. A connection to a remote node is dialled anew by the next Open; one to a child never is.
//
// # Testing
//
// Everything works in a bubble of testing/synctest, over net.Pipe.
package link
