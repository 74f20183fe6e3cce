package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
)

// An alert is what TLS tells a peer in one byte (RFC 8446, 6.2).
type alert uint8

const (
	noAlert             alert = 0 // close_notify, which is no error
	badCertificate      alert = 42
	certificateExpired  alert = 45
	unknownCA           alert = 48
	protocolVersion     alert = 70
	certificateRequired alert = 116
	noApplication       alert = 120
)

// alertOf returns the alert that the peer sent, if err is one. crypto/tls keeps its type to itself; it is a number.
func alertOf(err error) alert {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return noAlert
	}
	if v := reflect.ValueOf(op.Err); v.Kind() == reflect.Uint8 {
		return alert(v.Uint())
	}
	return noAlert
}

// diagnose finds what is wrong where that does not depend on the side. What it does not know is Malformed.
func diagnose(err error) *AuthError {
	var told *AuthError
	var header tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unverified *tls.CertificateVerificationError
	switch {
	case errors.As(err, &told):
		e := *told
		return &e
	case errors.Is(err, errOversized):
		return &AuthError{Reason: Oversized, Err: err}
	case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		return &AuthError{Reason: TimedOut, Err: err}
	case errors.Is(err, context.Canceled):
		return &AuthError{Reason: Closed, Detail: "given up on this side", Err: err}
	case errors.As(err, &header) && header.Conn != nil: // the first bytes were no TLS
		return &AuthError{Reason: Plaintext, Err: err}
	case errors.As(err, &authority):
		return &AuthError{Reason: WrongCA, Err: err}
	case errors.As(err, &name):
		return &AuthError{Reason: WrongName, Err: err}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return &AuthError{Reason: Expired, Err: err}
	case errors.As(err, &unverified) || errors.As(err, &invalid):
		return &AuthError{Reason: Rejected, Err: err}
	case lost(err):
		return &AuthError{Reason: Closed, Err: err}
	}
	return &AuthError{Reason: Malformed, Err: err}
}

// lost reports whether the connection ended.
func lost(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	// Whatever a system calls a reset: what crypto/tls says itself comes as "remote error" and "local error".
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "read" || op.Op == "write")
}

// atServer finds what is wrong with a program.
func atServer(err error, hello greeting) *AuthError {
	e := diagnose(err)
	switch {
	case e.Reason == TimedOut || e.Reason == Oversized:
	case hello.old:
		e.Reason, e.Detail = OldTLS, "the program must speak TLS 1.3"
	case hello.otherMethod != "":
		e.Reason, e.Detail = WrongMethod, hello.otherMethod
	case e.Reason == Plaintext:
		e.Detail = "the program must use TLS"
	// crypto/tls has no type for it; only this label depends on the text.
	case e.Err != nil && strings.Contains(e.Err.Error(), "didn't provide a certificate"):
		e.Reason, e.Detail = NoCertificate, "the program showed none"
	case e.Reason == WrongCA:
		e.Detail = "the program's certificate is not signed by an authority in ClientCAs"
	case e.Reason == Expired:
		e.Detail = "the program's certificate, or this machine's clock"
	}
	return e
}

// atTLSServer reads what programs say of a node's certificate.
func atTLSServer(e *AuthError) *AuthError {
	switch alertOf(e.Err) {
	case badCertificate, unknownCA, certificateExpired:
		e.Reason, e.Detail = Rejected, "the program does not accept this node's certificate; its own error says why"
	}
	return e
}

// atTokenServer reads what programs say of a node's key.
func atTokenServer(e *AuthError) *AuthError {
	if alertOf(e.Err) == badCertificate {
		e.Reason, e.Detail = WrongPin, "the program's join token is for another node, or from before this node's was made"
	}
	return e
}

// atClient finds what is wrong with a node.
func atClient(err error) *AuthError {
	e := diagnose(err)
	switch {
	case alertOf(err) == protocolVersion, e.Err != nil && strings.Contains(e.Err.Error(), "unsupported protocol version"):
		e.Reason, e.Detail = OldTLS, "the node must speak TLS 1.3"
	case e.Reason == Plaintext:
		e.Detail = "what answers there speaks no TLS: a node that is open to its own machine, or no node"
	case e.Reason == TimedOut && e.Detail == "":
		e.Detail = "the node did not answer in time"
	}
	return e
}

// atTokenClient reads what nodes say to a program that has a join token.
func atTokenClient(err error) *AuthError {
	e := atClient(err)
	if alertOf(err) == noApplication {
		e.Reason, e.Detail = WrongMethod, "what answers there takes no join tokens; a node that wants certificates answers so"
	}
	return e
}

// atTLSClient reads what nodes say of a program's certificate. In TLS 1.3 they say it after the handshake, if at all.
func atTLSClient(err error, shaken bool, showed bool) *AuthError {
	e := atClient(err)
	told := alertOf(err)
	switch {
	case told == noApplication:
		e.Reason, e.Detail = WrongMethod, "what answers there is no gRPC server with certificates; a node that wants a join token answers so"
	case told == certificateRequired:
		e.Reason, e.Detail = NoCertificate, "the node wants one of us, and we showed none"
	case told == unknownCA:
		e.Reason, e.Detail = WrongCA, "the node does not trust the authority that signed our certificate"
	case told == certificateExpired:
		e.Reason, e.Detail = Expired, "ours, says the node; or its clock is wrong"
	case told != noAlert && shaken:
		e.Reason, e.Detail = Rejected, "the node does not accept ours; its log says why"
	case !shaken:
		switch e.Reason {
		case WrongCA:
			e.Detail = "the node's certificate is not signed by an authority in RootCAs"
		case Expired:
			e.Detail = "the node's, or this machine's clock"
		case WrongName:
			e.Detail = "the node's certificate"
		}
	case e.Reason == Closed && !showed:
		e.Detail = "the node closed the connection after the handshake: it may want a certificate, and we showed none"
	case e.Reason == Closed:
		e.Detail = "the node closed the connection after the handshake: it may not accept our certificate"
	}
	return e
}
