package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// The names of the files that MakeCertificates writes.
const (
	CAFile         = "ca.pem"
	NodeCertFile   = "node.pem"
	NodeKeyFile    = "node.key"
	ClientCertFile = "client.pem"
	ClientKeyFile  = "client.key"
)

// certificatesFor is how long certificates for a first try are valid.
const certificatesFor = 30 * 24 * time.Hour

// MakeCertificates writes certificates for a first try into a directory, which it makes if it is not there: an authority, a
// certificate of a node that is reached as hosts (names or IP addresses; none means localhost, 127.0.0.1 and ::1), and one of a
// program, with their keys, which only their owner can read. They are valid for 30 days. The authority's key is in no file, so nobody
// can sign more in its name. Files that exist are left alone: the error is then fs.ErrExist.
func MakeCertificates(dir string, hosts ...string) error {
	if len(hosts) == 0 {
		hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	names := []string{CAFile, NodeCertFile, NodeKeyFile, ClientCertFile, ClientKeyFile}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s: remove it first: %w", filepath.Join(dir, name), fs.ErrExist)
		}
	}
	now := time.Now()
	ca, err := newAuthority("weir authority for a first try", now)
	if err != nil {
		return err
	}
	node, err := ca.issue(leaf{name: hosts[0], hosts: hosts, use: x509.ExtKeyUsageServerAuth, from: now, until: now.Add(certificatesFor)})
	if err != nil {
		return err
	}
	client, err := ca.issue(leaf{name: "weir program", use: x509.ExtKeyUsageClientAuth, from: now, until: now.Add(certificatesFor)})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	contents := [][]byte{ca.pem()}
	for _, cert := range []tls.Certificate{node, client} {
		der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
		if err != nil {
			return err
		}
		contents = append(contents, pemOf(cert), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	for i, name := range names {
		if err := replace(filepath.Join(dir, name), contents[i]); err != nil {
			return err
		}
	}
	return nil
}

// LoadNode returns the configuration of a node from three files: its certificate, its key, and the authorities of the
// programs that it lets in.
func LoadNode(certFile, keyFile, caFile string) (*tls.Config, error) {
	cert, pool, err := load(certFile, keyFile, caFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS13}, nil
}

// LoadClient returns the configuration of a program from three files: its certificate, its key, and the authorities of the nodes
// that it trusts.
func LoadClient(certFile, keyFile, caFile string) (*tls.Config, error) {
	cert, pool, err := load(certFile, keyFile, caFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, MinVersion: tls.VersionTLS13}, nil
}

func load(certFile, keyFile, caFile string) (tls.Certificate, *x509.CertPool, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return cert, nil, fmt.Errorf("certificate %q with key %q: %w", certFile, keyFile, err)
	}
	b, err := os.ReadFile(caFile)
	if err != nil {
		return cert, nil, fmt.Errorf("authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return cert, nil, fmt.Errorf("authorities: no certificate in %q", caFile)
	}
	return cert, pool, nil
}

// An authority signs certificates for as long as it is in memory.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// clockSkew between the machine that makes certificates and those that check them is forgiven.
const clockSkew = time.Hour

func newAuthority(name string, now time.Time) (*authority, error) {
	key, serial, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certificatesFor),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key}, err
}

func (a *authority) pem() []byte { return certificatePEM(a.cert.Raw) }

// A leaf is what a certificate is for.
type leaf struct {
	name        string
	hosts       []string
	use         x509.ExtKeyUsage
	from, until time.Time
}

func (a *authority) issue(l leaf) (tls.Certificate, error) {
	key, serial, err := newKey()
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: l.name},
		NotBefore: l.from.Add(-clockSkew), NotAfter: l.until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{l.use}, BasicConstraintsValid: true,
	}
	for _, host := range l.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		if host == "" {
			return tls.Certificate{}, errors.New("a certificate for a host without a name")
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate for %q: %w", l.name, err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func newKey() (*ecdsa.PrivateKey, *big.Int, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	return key, serial, err
}

func pemOf(c tls.Certificate) []byte { return certificatePEM(c.Certificate[0]) }

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
