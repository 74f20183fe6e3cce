package supervisor

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// foreign is a placement of a package that got around the seal.
type foreign struct{ Placement }

func TestAPlacementThatCannotBeIsRefused(t *testing.T) {
	child, secret := Subprocess{}, newToken(t, "token")
	client := tls.Config{Certificates: []tls.Certificate{{}}}
	lax, old := client.Clone(), client.Clone()
	lax.InsecureSkipVerify, old.MaxVersion = true, tls.VersionTLS12
	loop := Regions{{From: "a", On: child}}
	loop[0].On = Pool{2, loop}
	for _, tt := range []struct {
		at   Placement
		want string // each after the placement
	}{
		{Subprocess{Nice: -1, GOMAXPROCS: -1, MemoryBytes: -1, ArenaBytes: -1},
			"nice is -1, want 0 to 19|procs is -1, want 0 to 8192|memory is -1 bytes, want at least 1MiB, or 0 for no limit|arena is -1 bytes, want at least 16KiB, or 0 for 64MiB"},
		{Subprocess{Nice: 20}, "nice is 20, want 0 to 19"},
		{Subprocess{CPUs: []int{0, 0, -1}}, "core 0 twice|core -1, want 0 to 8191"},
		{Subprocess{CPUs: []int{8191}}, "there is no core 8191: this machine has "},
		{Subprocess{Env: []string{"", "=x", "A=1", "A=2", "B=\x00"}},
			`env has an entry without a key: want KEY=value, or KEY|env has an entry without a key: want KEY=value, or KEY|env "A" twice|env "B" has a zero byte`},
		{Subprocess{Env: []string{"WEIR_NOT_SET"}}, `env "WEIR_NOT_SET" is not set in this process: want it set, or "WEIR_NOT_SET=value"`},
		{Subprocess{GOMAXPROCS: 2, Env: []string{"GOMAXPROCS=1"}}, `env "GOMAXPROCS" and procs: want one of them`},
		{Remote{}, "no address: want tcp://HOST:PORT or dns:///NAME:PORT"},
		{Remote{Addr: "h:1", Join: secret}, `address "h:1": want tcp://HOST:PORT or dns:///NAME:PORT`},
		{Remote{Addr: "tcp://h:1"}, "neither a join token nor a certificate: only a loopback address may go without"},
		{Remote{Addr: "tcp://h:1", Join: secret, TLS: &client}, "TLS and a join token: want one of them"},
		{Remote{Addr: "tcp://127.0.0.1:1", TLS: &tls.Config{}}, "TLS has no certificate of the client: the node asks for one"},
		{Remote{Addr: "tcp://h:1", TLS: lax}, "TLS.InsecureSkipVerify: whoever answers would be taken for the node"},
		{Remote{Addr: "tcp://h:1", TLS: old}, "TLS.MaxVersion is TLS 1.2, want TLS 1.3"},
		{Pool{}, "a pool of 0 copies, want 1 to 1024|a pool of nothing: Of is nil, want Subprocess or Remote"},
		{Pool{-1, child}, "a pool of -1 copies, want 1 to 1024"},
		{Pool{1, Subprocess{Nice: 99}}, "nice is 99, want 0 to 19"},
		{Pool{2, Pool{2, child}}, "a pool of pools: want Subprocess or Remote in a pool"},
		{Pool{2, InProcess{}}, "a pool of InProcess: want Subprocess or Remote in a pool; in this process, the stages' Mailbox is what has them work on more items at once"},
		{Pool{2, Regions{}}, "a pool of Regions: want a pool in each region"},
		{Pool{2, &child}, "a pointer: want the value, supervisor.Subprocess"},
		{Regions{{}}, `region 1: From is empty|region "": On is nil`},
		{Regions{{"a", "b", Regions{}}}, "region a..b: Regions within a region"},
		{Regions{{"a", "", Subprocess{Nice: 99, GOMAXPROCS: -1}}, {"b", "", Pool{0, child}}},
			"region a: nice is 99, want 0 to 19|region a: procs is -1, want 0 to 8192|region b: a pool of 0 copies, want 1 to 1024"},
		{Regions{{"a", "b", child}, {"c", "a", child}}, `region c..a: stage "a" is in another region, too`},
		{Regions{{"a", "", Subprocess{Env: []string{"WEIR_NOT_SET"}}}}, `region a: env "WEIR_NOT_SET" is not set in this process: want it set, or "WEIR_NOT_SET=value"`},
		{loop, "region a: a pool of Regions: want a pool in each region"},
		{nil, "nil is no placement"},
		{&child, "a pointer: want the value, supervisor.Subprocess"},
		{(*Regions)(nil), "a pointer: want the value, supervisor.Regions"},
		{foreign{}, "not one of this package"},
		{foreign{child}, "not one of this package"},
	} {
		err := validatePlacement(tt.at)
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			t.Errorf("%#v: got %v, want %s", tt.at, err, tt.want)
			continue
		}
		all := strings.Split(tt.want, "|")
		for i, e := range joined.Unwrap() {
			if e, ok := errors.AsType[*PlacementError](e); !ok || i >= len(all) || !strings.HasPrefix(e.Reason, all[i]) {
				t.Errorf("%T: got %v, want %s", tt.at, e, tt.want)
			}
		}
		if len(joined.Unwrap()) != len(all) {
			t.Errorf("%T: got %v, want %s", tt.at, err, tt.want)
		}
	}
}

func TestAPlacementThatCanBeIsAccepted(t *testing.T) {
	t.Setenv("WEIR_SET", "")
	secret := newToken(t, "token")
	client := &tls.Config{Certificates: []tls.Certificate{{}}}
	for _, at := range []Placement{
		InProcess{}, Subprocess{}, Subprocess{Nice: 19, Env: []string{"A=", "WEIR_SET"}}, Regions{}, Regions(nil),
		Remote{Addr: "tcp://h:1", TLS: client}, Remote{Addr: "dns:///h:65535", Join: secret}, Remote{Addr: "tcp://127.1.2.3:1"},
		Remote{Addr: "tcp://[::ffff:127.0.0.1]:1"}, Remote{Addr: "tcp://LocalHost:1"},
		Pool{1, Subprocess{}}, Pool{1024, Remote{Addr: "tcp://h:1", TLS: client}},
		Regions{{"a", "a", Subprocess{}}, {"b", "c", Pool{2, Subprocess{}}}, {"d", "", InProcess{}}},
	} {
		if err := validatePlacement(at); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	if cpus, known := onlineCPUs(); known {
		if err := validatePlacement(Subprocess{CPUs: cpus}); err != nil || len(cpus) == 0 {
			t.Errorf("cores %v: %v", cpus, err)
		}
	}
}

func TestAStageThatIsNotThereIsRefused(t *testing.T) {
	stages := []string{"list", "read", "decode", "resize"}
	at := Regions{{"list", "decode", Subprocess{}}, {"resise", "", Subprocess{}}, {"x", "resize", InProcess{}}}
	want := `placement "list..decode=subprocess,resise=subprocess,x..resize=inprocess": region resise: there is no stage "resise": did you mean "resize"? There are "list", "read", "decode" and "resize"
placement "list..decode=subprocess,resise=subprocess,x..resize=inprocess": region x..resize: there is no stage "x": there are "list", "read", "decode" and "resize"`
	if err := validateStages(at, stages); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, ok := range []Placement{nil, InProcess{}, Subprocess{}, at[:1]} {
		if err := validateStages(ok, stages); err != nil {
			t.Error(err)
		}
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("stage", i, "xxxxxxxx"))
	}
	if err := validateStages(at[1:2], many); !strings.HasSuffix(err.Error(), `"stage39xxxxxxxx" and 60 more`) {
		t.Error(err)
	}
	if err := validateStages(at[1:2], []string{"resize"}); !strings.HasSuffix(err.Error(), `did you mean "resize"? There is "resize"`) {
		t.Error(err)
	}
}

func TestSecretsAreNotInTheFormOfAPlacement(t *testing.T) {
	client := &tls.Config{ServerName: "secret"}
	for want, at := range map[string]Placement{
		"subprocess?env=TOKEN&env=HOME": Subprocess{Env: []string{"TOKEN=secret", "HOME"}},
		"2*tcp://h:1?tls":               Pool{2, Remote{Addr: "tcp://h:1", TLS: client}},
		"inprocess":                     Regions{},
		"a=[<nil>],b=[regions],c=2*[<nil>],d=0*[pool]": Regions{{"a", "", nil}, {"b", "", Regions{{}}}, {"c", "", Pool{Size: 2}}, {"d", "", Pool{Of: Pool{}}}},
		`a=[supervisor.foreign]`:                       Regions{{"a", "", foreign{}}},
	} {
		if at.String() != want {
			t.Errorf("got %s, want %s", at, want)
		}
	}
	if err := validatePlacement(Subprocess{Nice: 99, Env: []string{"A=secret", "A=secret", "B=secret\x00"}}); strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestFaultsOfOneFileAreFoundThroughJoins(t *testing.T) {
	_, err := ParsePlacement("no.yaml")
	err = fmt.Errorf("deploy: %w", errors.Join(errors.New("other"), err))
	if e, ok := errors.AsType[*PlacementError](err); !ok || e.File != "no.yaml" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
