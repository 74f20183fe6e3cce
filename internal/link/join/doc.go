// Package join proves to a node and to the program that deploys on it who the other one is, before either does any work.
//
// # Usage
//
// A Server or a Client is made from one of three things, and handed to gRPC as its transport credentials:
//
//	join.NewTokenServer, join.NewTokenClient   a join token: a secret that both sides know, and the pin of the node's key
//	join.NewTLSServer, join.NewTLSClient       certificates on both sides (mutual TLS)
//	join.NewOpenServer, join.NewOpenClient     nothing, between two ends on one machine
//
// Create makes a join token and Read reads it; MakeCertificates makes certificates for a first try.
//
// # The proof of a join token
//
// The connection is TLS 1.3 without resumption, with the ALPN protocol "weir-join/1". The node shows a certificate that it
// has signed itself; the program checks nothing of it but that the SHA-256 of its public key (SubjectPublicKeyInfo) is
// the pin. Its SNI begins with a part of the pin, so that a node that accepts two tokens knows which key to show.
// Then each side sends one message of 43 bytes, the program first:
//
//	"weir-join"  9 bytes
//	version      1 byte, 1
//	kind         1 byte: 'p' proof of the program, 'n' proof of the node, 'r' refused
//	proof        32 bytes: HMAC-SHA256(secret, label + exporter); zeros in a refusal
//
// The label is "weir-join-v1 program" or "weir-join-v1 node", so that neither side's proof can be sent back to it; the exporter is
// that of the connection (RFC 8446, 7.5; RFC 9266 describes such a binding) under EXPORTER-weir-join-v1, 32 bytes,
// so that a proof is worth nothing on another connection. The node proves nothing to a program that has not.
//
// # Concurrency
//
// Servers and clients are safe for concurrent use. Nothing here starts a goroutine. A handshake takes at most
// Options.Within, and reads at most 4 KiB (with certificates 32 KiB) from a peer that has not proved itself.
//
// # Failure
//
// A failed handshake is an *AuthError that says which of the things that can be wrong is wrong. The peer is told only
// that it is refused, with certificates what TLS itself tells it. gRPC makes text of the error: Client.Err keeps it.
//
// # Testing
//
// The attackers in attack_test.go come over real connections on the loopback interface.
package join
