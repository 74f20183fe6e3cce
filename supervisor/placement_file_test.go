package supervisor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// put writes a file and returns its path.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAPlacementIsReadFromAFile(t *testing.T) {
	dir := t.TempDir()
	token, err := NewJoinToken(filepath.Join(dir, "node.token"))
	if err != nil {
		t.Fatal(err)
	}
	full := Subprocess{Nice: 10, CPUs: []int{0, 1, 2, 3, 8}, GOMAXPROCS: 4, MemoryBytes: 2 << 30, ArenaBytes: 128 << 20, Env: []string{"A=b c", "HOME", "N=1"}}
	for _, tt := range []struct {
		name, text string
		want       Placement
	}{
		{"a.yaml", "inprocess", InProcess{}},
		{"a.yaml", "inprocess:\n", InProcess{}},
		{"a.YML", "# where it runs\nsubprocess: {}\n", Subprocess{}},
		{"a.yml", "---\nsubprocess:\n...\n", Subprocess{}},
		{"a.yaml", "subprocess:\n  nice: 10\n  cpus: [0-3, 8]\n  procs: 4\n  memory: 2GiB\n  arena: 134217728\n  env: [A=b c, HOME, N=1]\n", full},
		{"a.yaml", "Subprocess:\n  Nice: 10\n  CPUs: 0-3,8\n  GOMAXPROCS: 4\n  MemoryBytes: 2147483648\n  ArenaBytes: 128MiB\n  Env:\n    A: b c\n    HOME:\n    N: 1\n", full},
		{"a.json", "{\"subprocess\":\n\t{\"nice\": 10, \"cpus\": [0,1,2,3,8], \"procs\": 4, \"memory\": \"2GiB\", \"arena\": 134217728, \"env\": {\"A\": \"b c\", \"HOME\": null, \"N\": 1}}}", full},
		{"a.yaml", "subprocess?nice=3", Subprocess{Nice: 3}},
		{"a.yaml", "a..b=subprocess,c=inprocess", Regions{{"a", "b", Subprocess{}}, {"c", "", InProcess{}}}},
		{"a.json", `"4*subprocess"`, Pool{4, Subprocess{}}},
		{"a.yaml", "pool:\n  size: 4\n  of:\n    subprocess:\n      nice: 10\n", Pool{4, Subprocess{Nice: 10}}},
		{"a.yaml", "remote:\n  addr: tcp://localhost:7433\n", Remote{Addr: "tcp://localhost:7433"}},
		{"a.yaml", "remote:\n  addr: tcp://h:7433\n  join: node.token\n", Remote{Addr: "tcp://h:7433", Join: token}},
		{"a.yaml", "tcp://h:7433?join=node.token\n", Remote{Addr: "tcp://h:7433", Join: token}},
		{"a.json", `{"remote": {"addr": "tcp://h:7433", "join": "` + filepath.ToSlash(filepath.Join(dir, "node.token")) + `"}}`, Remote{Addr: "tcp://h:7433", Join: token}},
		{"a.yaml", "regions:\n- from: decode\n  to: resize\n  on:\n    pool: {size: 4, of: subprocess}\n- from: on\n  on: 2*subprocess?nice=1\n- {from: 1, to: , on: {inprocess: {}}}\n",
			Regions{{"decode", "resize", Pool{4, Subprocess{}}}, {"on", "", Pool{2, Subprocess{Nice: 1}}}, {"1", "", InProcess{}}}},
		{"a.yaml", "- {from: a..b, to: null, on: subprocess}", Regions{{"a..b", "", Subprocess{}}}},
		{"a.json", `[{"From": "\ud83d\ude00", "To": "", "On": "subprocess"}]`, Regions{{"😀", "", Subprocess{}}}},
		{"a.yaml", "regions: []", Regions{}},
	} {
		got, err := ParsePlacement(put(t, dir, tt.name, tt.text))
		if err != nil || !reflect.DeepEqual(named(got), named(tt.want)) {
			t.Errorf("%s: got %#v, %v", tt.text, got, err)
		}
	}
}

func TestAFileIsRefusedAtTheLine(t *testing.T) {
	dir := t.TempDir()
	const kinds = "want one of inprocess, subprocess, remote, pool and regions"
	const has = "it has nice, cpus, procs, memory, arena and env"
	for _, tt := range []struct{ name, text, want string }{
		{"a.yaml", "", ": empty: want a placement"},
		{"a.yaml", "# nothing\n", ": empty: want a placement"},
		{"a.json", " \n", ": empty: want a placement"},
		{"a.yaml", "~", ":1: want a placement"},
		{"a.yaml", "\n\nmoon\n", `:3: "moon": not known: `},
		{"a.yaml", "\n4*subprocess?nice=x\n", `:2: "4*subprocess?nice=x": column 14, "nice=x": nice: want a number, 0 to 19`},
		{"a.yaml", "other.yaml", `:1: "other.yaml": a file says where everything is, and not a part: want what is in it`},
		{"a.yaml", "subprocess: {}\npool: {}\n", `:1: "subprocess, pool": ` + kinds},
		{"a.yaml", "subproces: {}\n", `:1: unknown field "subproces": ` + kinds},
		{"a.yaml", "subprocess:\n  nice: 1\n  ncie: 2\n", `:3: unknown field: subprocess has no "ncie": did you mean nice? ` + has},
		{"a.yaml", "subprocess:\n  nice: 99\n  memory: 2GB\n  cpus: [0,\n    1, 0]\n  procs: []\n",
			`:2: nice is 99, want 0 to 19|:3: memory: unit "GB": did you mean 2GiB?|:5: core 0 twice|:6: procs: want a value, and not a list`},
		{"a.yaml", "subprocess:\n  nice: 1\n  nice: 2\n", `:3: nice twice`},
		{"a.yaml", "subprocess:\n  memory: 1GiB\n  memoryBytes: 2\n", `:3: memory twice`},
		{"a.yaml", "subprocess:\n  nice:\n", `:2: nice: want a value, and not nothing`},
		{"a.yaml", "subprocess:\n  env:\n    A: [1]\n", `:2: env: A: want a value, and not a list`},
		{"a.yaml", "subprocess:\n  env: [[]]\n", `:2: env: want a list of values, and not of a list`},
		{"a.yaml", "subprocess: 4\n", `:1: subprocess: want fields, and not a value`},
		{"a.yaml", "inprocess:\n  nice: 4\n", `:2: unknown field "nice": inprocess has none`},
		{"a.yaml", "pool:\n  size: 0\n  of: moon\n", `:2: size: want a number, 1 to 1024|:3: "moon": not known: `},
		{"a.yaml", "\npool:\n", `:2: a pool without size|:2: a pool without of`},
		{"a.yaml", "pool:\n  size: 2\n  of:\n    pool: {size: 2, of: subprocess}\n", `:4: a pool of pools`},
		{"a.yaml", "pool:\n  size: 2\n  of: 2*subprocess\n", `:3: a pool of pools`},
		{"a.yaml", "pool:\n  size: 2\n  of: a=subprocess\n", `:3: a pool of Regions`},
		{"a.yaml", "pool:\n  size: 2\n  of: []\n", `:3: a pool of Regions`},
		{"a.yaml", "pool:\n  size: 2\n  of: inprocess\n", `:3: a pool of InProcess`},
		{"a.yaml", "regions: {}\n", `:1: regions: want a list`},
		{"a.yaml", "- from: a\n  to: b\n- to: c\n  on: subprocess\n- x: 1\n",
			`:1: a region without on|:3: a region without from|:5: unknown field "x": a region has from, to, on|:5: a region without from|:5: a region without on`},
		{"a.yaml", "- subprocess\n", `:1: a region: want fields, and not a value`},
		{"a.yaml", "- from: [a]\n  on: subprocess\n", `:1: want the name of a stage`},
		{"a.yaml", "- from: a\n  on:\n    regions: []\n", `:3: Regions within a region`},
		{"a.yaml", "- from: a\n  on: a=subprocess\n", `:2: Regions within a region`},
		{"a.yaml", "- {from: a, on: subprocess}\n- {from: b, to: a, on: subprocess}\n", `:2: region b..a: stage "a" is in another region, too`},
		{"a.yaml", "remote:\n  addr: h:1\n", `:2: addr: address "h:1": want tcp://HOST:PORT or dns:///NAME:PORT`},
		{"a.yaml", "remote:\n  join: no.token\n  add: x\n", `:2: join: no token: join token |:3: unknown field: remote has no "add": did you mean addr? it has addr, join, cert, key and ca`},
		{"a.yaml", "remote:\n  addr: tcp://h:1\n", `:2: neither a join token nor a certificate: `},
		{"a.yaml", "remote:\n", `:1: no address: want `},
		{"a.yaml", "a: &x 1\n", `:1: anchors and aliases are not read here`},
		{"a.yaml", "- *x\n", `: not YAML: unknown anchor 'x' referenced`},
		{"a.yaml", "subprocess:\n  nice: !!int 1\n", `:2: tags, such as !!int, are not read here`},
		{"a.yaml", "inprocess\n---\ninprocess\n", `:2: a second document`},
		{"a.yaml", "subprocess:\n  nice: [1\n", `:2: not YAML: did not find expected ',' or ']'`},
		{"a.yaml", "subprocess:\n\tnice: 1\n", `:2: not YAML: found character that cannot start any token`},
		{"a.yaml", "subprocess:\n  nice: 1\n cpus: 1\n", `:3: not YAML: did not find expected key`},
		{"a.yaml", "\xff", `: not YAML: `},
		{"a.json", "{\"subprocess\": {\n\"nice\": 1,\n}}", `:3: not JSON: invalid character '}' looking for beginning of object key string`},
		{"a.json", "{\"subprocess\":\n {\n\"nice\": 1.5, \n\"xyzzy\": {}}}", `:3: nice: want a number, 0 to 19|:4: unknown field: subprocess has no "xyzzy": ` + has},
		{"a.json", "\"in\nprocess\"", `:1: not JSON: invalid character '\n' in string literal`},
		{"a.json", "\n\"\xff\"", `:2: not JSON: not UTF-8`},
		{"a.json", `"inprocess" "inprocess"`, `:1: not JSON: invalid character '"' after top-level value`},
		{"a.json", "{\"subprocess\": {\"nice\": 1,\n\"nice\": 2}}", `:2: nice twice`},
		{"a.json", "inprocess", `:1: not JSON: `},
		{"a.yaml", strings.Repeat("#", 1<<20+1), `: not read: `},
		{"a.yaml", strings.Repeat("[", 1<<19), `: not YAML: exceeded max depth`},
		{"a.json", strings.Repeat("[", 1<<19), `:1: not JSON: invalid character '[' exceeded max depth`},
	} {
		path := put(t, dir, tt.name, tt.text)
		at, err := ParsePlacement(path)
		if at != nil || err == nil {
			t.Errorf("%.100s: got %v, %v", tt.text, at, err)
			continue
		}
		all := []error{err}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = joined.Unwrap()
		}
		want := strings.Split(tt.want, "|")
		for i, err := range all {
			e, ok := errors.AsType[*PlacementError](err)
			if !ok || e.File != path || i >= len(want) || !strings.HasPrefix(err.Error(), "placement "+path+want[i]) {
				t.Errorf("%.100s\ngot  %v\nwant %s", tt.text, err, tt.want)
			}
		}
		if len(all) != len(want) {
			t.Errorf("%.100s\ngot  %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func TestCertificatesAreReadFromFiles(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "c.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	put(t, dir, "k.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	put(t, dir, "bad.pem", "no")
	t.Chdir(dir)

	const form = "4*dns:///h:1?cert=c.pem&key=k.pem&ca=c.pem"
	at, err := ParsePlacement(form)
	if err != nil || at.String() != form {
		t.Fatalf("got %v, %v", at, err)
	}
	r := at.(Pool).Of.(Remote)
	if len(r.TLS.Certificates) != 1 || r.TLS.RootCAs == nil || validatePlacement(at) != nil {
		t.Errorf("got %#v, %v", r.TLS, validatePlacement(at))
	}
	if r.TLS = r.TLS.Clone(); r.String() != "dns:///h:1?tls" {
		t.Errorf("changed in code: %s", r)
	}
	at, err = ParsePlacement("tcp://h:1?cert=c.pem&key=k.pem")
	if err != nil || at.(Remote).TLS.RootCAs != nil {
		t.Errorf("got %v, %v", at, err)
	}
	os.Mkdir("conf", 0o700)
	at, err = ParsePlacement(put(t, "conf", "a.yaml", "remote: {addr: tcp://h:1, cert: ../c.pem, key: ../k.pem, ca: "+filepath.ToSlash(filepath.Join(dir, "c.pem"))+"}"))
	if err != nil || !strings.HasPrefix(at.String(), "tcp://h:1?cert=c.pem&key=k.pem&ca=") {
		t.Errorf("got %v, %v", at, err)
	}
	for query, want := range map[string]string{
		"cert=c.pem&key=no.pem":             "a file of TLS: stat no.pem: ",
		"cert=bad.pem&key=k.pem":            "certificate bad.pem with key k.pem: tls: failed to find any PEM data in certificate input",
		"cert=c.pem&key=k.pem&ca=bad.pem":   "ca: bad.pem has no certificate (PEM)",
		"cert=c.pem&key=k.pem&join=bad.pem": `column 32, "join=bad.pem": join: no token: join token "bad.pem": not a join token: line 1 is not "weir-join-token 1"`,
	} {
		if _, err := ParsePlacement("tcp://h:1?" + query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", query, err, want)
		}
	}
	token := newToken(t, "token")
	if _, err := ParsePlacement("tcp://h:1?cert=c.pem&key=k.pem&join=" + escape(token.path)); err == nil || !strings.Contains(err.Error(), "TLS and a join token: want one of them") {
		t.Errorf("both: %v", err)
	}
}

func TestTheFileOfTheGuideIsRead(t *testing.T) {
	guide, err := os.ReadFile("../docs/placement.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(guide), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	token := newToken(t, "node.token")
	at, err := ParsePlacement(put(t, filepath.Dir(token.path), "placement.yaml", text))
	want := "decode..resize=4*subprocess?nice=10&cpus=0-3,8&memory=2GiB&env=TZ&env=TOKEN,embed=dns:///loaders:7433?join=" +
		escape(token.path) + ",index=subprocess?nice=10"
	if err != nil || at.String() != want {
		t.Errorf("got %v, %v", at, err)
	}
}
