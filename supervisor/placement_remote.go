package supervisor

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

func (p Remote) faults() (faults []string) {
	host, reason := splitAddr(p.Addr)
	if reason != "" {
		faults = append(faults, reason)
	}
	joins := p.Join != JoinToken{}
	switch {
	case p.TLS != nil && joins:
		faults = append(faults, "TLS and a join token: want one of them")
	case p.TLS != nil:
		faults = append(faults, tlsFaults(p.TLS)...)
	case !joins && reason == "" && !loopback(host):
		faults = append(faults, "neither a join token nor a certificate: only a loopback address may go without")
	}
	return faults
}

// splitAddr returns the host of an address, or what is wrong with the address.
func splitAddr(addr string) (host, reason string) {
	const want = "want tcp://HOST:PORT or dns:///NAME:PORT"
	if addr == "" {
		return "", "no address: " + want
	}
	scheme, rest, ok := strings.Cut(addr, "://")
	switch {
	case !ok || scheme != "tcp" && scheme != "dns":
		return "", fmt.Sprintf("address %q: %s", addr, want)
	case scheme == "dns":
		if rest, ok = strings.CutPrefix(rest, "/"); !ok {
			return "", fmt.Sprintf("address %q: want three slashes, dns:///NAME:PORT", addr)
		}
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		if strings.Count(rest, ":") > 1 && !strings.HasPrefix(rest, "[") {
			return "", fmt.Sprintf("address %q: want brackets around an IPv6 address, [::1]:7433", addr)
		}
		return "", fmt.Sprintf("address %q: want HOST:PORT behind the slashes", addr)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Sprintf("address %q: port %q, want a number from 1 to 65535", addr, port)
	}
	_, notIP := netip.ParseAddr(host)
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("/?#,&=*\"'@[]\\<>", r) }
	switch {
	case host == "":
		return "", fmt.Sprintf("address %q: no host", addr)
	case notIP != nil && strings.ContainsAny(host, ":%") || strings.ContainsFunc(host, bad):
		return "", fmt.Sprintf("address %q: %q is no host", addr, host)
	case scheme == "dns" && notIP == nil:
		return "", fmt.Sprintf("address %q: a name is looked up, and this is an address: want tcp://%s", addr, rest)
	}
	return host, ""
}

// loopback reports whether host is on this machine. That localhost is, is a rule (RFC 6761, 6.3).
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || err != nil && strings.EqualFold(host, "localhost")
}

func tlsFaults(c *tls.Config) (faults []string) {
	if len(c.Certificates) == 0 && c.GetClientCertificate == nil {
		faults = append(faults, "TLS has no certificate of the client: the node asks for one")
	}
	if c.InsecureSkipVerify && c.VerifyConnection == nil && c.VerifyPeerCertificate == nil {
		faults = append(faults, "TLS.InsecureSkipVerify: whoever answers would be taken for the node")
	}
	if c.MaxVersion != 0 && c.MaxVersion < tls.VersionTLS13 {
		faults = append(faults, "TLS.MaxVersion is "+tls.VersionName(c.MaxVersion)+", want TLS 1.3")
	}
	return faults
}

// tlsFiles are the files that a TLS configuration was made from.
type tlsFiles struct {
	cert, key string // of the client, PEM
	ca        string // who may vouch for the node, PEM; "": those that this system trusts
	made      *tls.Config
}

// load makes the configuration, if there are files.
func (f *tlsFiles) load() (reason string, err error) {
	switch {
	case *f == tlsFiles{}:
		return "", nil
	case f.cert == "":
		return "no cert=FILE: the node asks for a certificate of the client", nil
	case f.key == "":
		return "no key=FILE: it belongs to cert=FILE", nil
	}
	var pem [3][]byte
	for i, path := range []string{f.cert, f.key, f.ca} {
		if path == "" {
			continue
		}
		if pem[i], _, err = readSmallFile(path); err != nil {
			return "a file of TLS", err
		}
	}
	pair, err := tls.X509KeyPair(pem[0], pem[1])
	if err != nil {
		return fmt.Sprintf("certificate %s with key %s", f.cert, f.key), err
	}
	made := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	if f.ca != "" {
		made.RootCAs = x509.NewCertPool()
		if !made.RootCAs.AppendCertsFromPEM(pem[2]) {
			return fmt.Sprintf("ca: %s has no certificate (PEM)", f.ca), nil
		}
	}
	f.made = made
	return "", nil
}
