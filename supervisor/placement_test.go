package supervisor

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// read are forms, and what they mean. Those that are not written as String writes them have that, too.
func read() []struct {
	text, again string
	want        Placement
} {
	child := Subprocess{}
	return []struct {
		text, again string
		want        Placement
	}{
		{"inprocess", "", InProcess{}},
		{"subprocess", "", child},
		{"subprocess?nice=10&cpus=0-3&procs=4&memory=2GiB&arena=128MiB", "",
			Subprocess{Nice: 10, CPUs: []int{0, 1, 2, 3}, GOMAXPROCS: 4, MemoryBytes: 2 << 30, ArenaBytes: 128 << 20}},
		{"subprocess?memory=2147483648", "subprocess?memory=2GiB", Subprocess{MemoryBytes: 2 << 30}},
		{"subprocess?memory=2097152B", "subprocess?memory=2MiB", Subprocess{MemoryBytes: 2 << 20}},
		{"subprocess?memory=1536MiB", "", Subprocess{MemoryBytes: 3 << 29}},
		{"subprocess?memory=1048577", "", Subprocess{MemoryBytes: 1<<20 + 1}},
		{"subprocess?memory=9223372036854775807", "", Subprocess{MemoryBytes: math.MaxInt64}},
		{"subprocess?nice=0&memory=0&arena=0&procs=0", "subprocess", child},
		{"subprocess?cpus=3", "", Subprocess{CPUs: []int{3}}},
		{"subprocess?cpus=8,0-1,4", "", Subprocess{CPUs: []int{8, 0, 1, 4}}},
		{"subprocess?cpus=8%2C0%2D1", "subprocess?cpus=8,0-1", Subprocess{CPUs: []int{8, 0, 1}}},
		{"subprocess?env=HOME", "", Subprocess{Env: []string{"HOME"}}},
		{"subprocess?env=A&env=B", "", Subprocess{Env: []string{"A", "B"}}},
		{"subprocess?env=KEY%3Dvalue", "subprocess?env=KEY", Subprocess{Env: []string{"KEY=value"}}},
		{"subprocess?env=KEY=a=b", "subprocess?env=KEY", Subprocess{Env: []string{"KEY=a=b"}}},
		{"subprocess?env=KEY%3D%26%2C%25+ x", "subprocess?env=KEY", Subprocess{Env: []string{"KEY=&,%+ x"}}},
		{"tcp://127.0.0.1:7433", "", Remote{Addr: "tcp://127.0.0.1:7433"}},
		{"tcp://[::1]:7433", "", Remote{Addr: "tcp://[::1]:7433"}},
		{"tcp://localhost:7433", "", Remote{Addr: "tcp://localhost:7433"}},
		{"dns:///localhost:7433", "", Remote{Addr: "dns:///localhost:7433"}},
		{"4*subprocess", "", Pool{4, child}},
		{"1*subprocess?nice=19", "", Pool{1, Subprocess{Nice: 19}}},
		{"0004*subprocess", "4*subprocess", Pool{4, child}},
		{"2*tcp://localhost:1", "", Pool{2, Remote{Addr: "tcp://localhost:1"}}},
		{"decode=subprocess", "", Regions{{"decode", "", child}}},
		{"decode..resize=4*subprocess", "", Regions{{"decode", "resize", Pool{4, child}}}},
		{"decode..decode=inprocess", "", Regions{{"decode", "decode", InProcess{}}}},
		{"a=subprocess,b..c=2*subprocess", "", Regions{{"a", "", child}, {"b", "c", Pool{2, child}}}},
		{"a=subprocess?cpus=0,2,b=subprocess", "", Regions{{"a", "", Subprocess{CPUs: []int{0, 2}}}, {"b", "", child}}},
		{"a=subprocess?cpus=0,2&nice=3,8=subprocess", "a=subprocess?nice=3&cpus=0,2,8=subprocess",
			Regions{{"a", "", Subprocess{Nice: 3, CPUs: []int{0, 2}}}, {"8", "", child}}},
		{`a=subprocess?cpus=0,"b"=subprocess`, "a=subprocess?cpus=0,b=subprocess",
			Regions{{"a", "", Subprocess{CPUs: []int{0}}}, {"b", "", child}}},
		{`"a..b"=subprocess`, "", Regions{{"a..b", "", child}}},
		{`"a..b".."c=d,\"e\""=subprocess,f=subprocess`, "", Regions{{"a..b", `c=d,"e"`, child}, {"f", "", child}}},
		{`"plain"=subprocess`, "plain=subprocess", Regions{{"plain", "", child}}},
		{"a.b-c_d..read image=subprocess", "", Regions{{"a.b-c_d", "read image", child}}},
		{"größe..画像=subprocess", "", Regions{{"größe", "画像", child}}},
		{"a*b=subprocess", `"a*b"=subprocess`, Regions{{"a*b", "", child}}},
		{`"4*b"=subprocess`, "", Regions{{"4*b", "", child}}},
		{`"subprocess?env"=subprocess`, "", Regions{{"subprocess?env", "", child}}},
		{`"\x00\xff"=subprocess`, "", Regions{{"\x00\xff", "", child}}},
		{"subprocess=subprocess", "", Regions{{"subprocess", "", child}}},
		{"x.yaml=subprocess", "", Regions{{"x.yaml", "", child}}},
		{"a=subprocess?env=X%3D.yaml", "a=subprocess?env=X", Regions{{"a", "", Subprocess{Env: []string{"X=.yaml"}}}}},
	}
}

func TestAPlacementIsReadAsItIsMeant(t *testing.T) {
	for _, tt := range read() {
		got, err := ParsePlacement(tt.text)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %#v, %v", tt.text, got, err)
			continue
		}
		want := tt.again
		if want == "" {
			want = tt.text
		}
		if got.String() != want {
			t.Errorf("%s is written %s, want %s", tt.text, got, want)
		}
	}
}

func TestAPlacementIsRefusedWhereItIsWrong(t *testing.T) {
	const what = `want "inprocess", "subprocess", tcp://HOST:PORT, dns:///NAME:PORT, 4*subprocess, STAGE..STAGE=subprocess, or a file, .yaml or .json`
	const has = "it has nice, cpus, procs, memory, arena and env"
	for text, want := range map[string]string{
		"":                                       `: empty: ` + what,
		" inprocess":                             `: spaces around it`,
		"inprocess\n":                            `: spaces around it`,
		"moon":                                   `: not known: ` + what,
		"InProcess":                              `: not known: did you mean inprocess? ` + what,
		"subproces?nice=1":                       `: not known: did you mean subprocess? ` + what,
		"decode..resize":                         `: not known: ` + what,
		"inprocess:4":                            `: not known: did you mean inprocess? ` + what,
		"inprocess?nice=1":                       `: column 10, "?nice=1": inprocess has no parameters`,
		"subprocess?":                            `: column 12, the end: want KEY=VALUE`,
		"subprocess?nice=1&":                     `: column 19, the end: want KEY=VALUE`,
		"subprocess?nice":                        `: column 12, "nice": want nice=VALUE`,
		"subprocess?nice=":                       `: column 12, "nice=": nice: want a number, 0 to 19`,
		"subprocess?nice=x":                      `: column 12, "nice=x": nice: want a number, 0 to 19`,
		"subprocess?nice=20":                     `: column 12, "nice=20": nice is 20, want 0 to 19`,
		"subprocess?nice=-1":                     `: column 12, "nice=-1": nice is -1, want 0 to 19`,
		"subprocess?ncie=1":                      `: column 12, "ncie=1": subprocess has no "ncie": did you mean nice? ` + has,
		"subprocess?xyzzy=1":                     `: column 12, "xyzzy=1": subprocess has no "xyzzy": ` + has,
		"subprocess?nice=%zz":                    `: column 12, "nice=%zz": want two hexadecimal digits after %, and %25 for % itself`,
		"subprocess?cpus=":                       `: column 12, "cpus=": cpus: want cores by number, such as 0-3,8`,
		"subprocess?cpus=0-":                     `: column 12, "cpus=0-": cpus: want cores by number, such as 0-3,8`,
		"subprocess?cpus=-1":                     `: column 12, "cpus=-1": cpus: want cores by number, such as 0-3,8`,
		"subprocess?cpus=0,":                     `: column 12, "cpus=0,": cpus: want cores by number, such as 0-3,8`,
		"subprocess?cpus=3-1":                    `: column 12, "cpus=3-1": cpus: cores 3-1 end before they begin`,
		"subprocess?cpus=1,0-1":                  `: column 12, "cpus=1,0-1": core 1 twice`,
		"subprocess?cpus=8192":                   `: column 12, "cpus=8192": cpus: core "8192", want 0 to 8191`,
		"subprocess?cpus=0-18446744073709551616": `: column 12, "cpus=0-18446744073709551616": cpus: core "0-18446744073709551616", want 0 to 8191`,
		"subprocess?cpus=0-8000,1-8000":          `: column 12, "cpus=0-8000,1-8000": cpus: more cores than 8192`,
		"subprocess?nice=1&nice=1":               `: column 19, "nice=1": nice twice`,
		"subprocess?memory=2":                    `: column 12, "memory=2": memory is 2 bytes, want at least 1MiB, or 0 for no limit`,
		"subprocess?memory=-1":                   `: column 12, "memory=-1": memory: want a size: 2GiB, 512MiB, 64KiB or a number of bytes`,
		"subprocess?memory=2GB":                  `: column 12, "memory=2GB": memory: unit "GB": did you mean 2GiB?`,
		"subprocess?memory=2g":                   `: column 12, "memory=2g": memory: unit "g": did you mean 2GiB?`,
		"subprocess?memory=1.5GiB":               `: column 12, "memory=1.5GiB": memory: unit ".5GiB": want KiB, MiB, GiB, TiB or none, for bytes`,
		"subprocess?memory=9223372036854775808":  `: column 12, "memory=9223372036854775808": memory: more bytes than can be counted`,
		"subprocess?memory=8388608TiB":           `: column 12, "memory=8388608TiB": memory: more bytes than can be counted`,
		"subprocess?arena=1KiB":                  `: column 12, "arena=1KiB": arena is 1024 bytes, want at least 16KiB, or 0 for 64MiB`,
		"subprocess?procs=8193":                  `: column 12, "procs=8193": procs is 8193, want 0 to 8192`,
		"subprocess?env=":                        `: column 12, "env=": env has an entry without a key: want KEY=value, or KEY`,
		"subprocess?env==x":                      `: column 12, "env==x": env has an entry without a key: want KEY=value, or KEY`,
		"subprocess?env=A%00":                    `: column 12, "env=A%00": env "A" has a zero byte`,
		"subprocess?env=A&env=A=1":               `: column 18, "env=A=1": env "A" twice`,
		"subprocess?memory=1GiB&env=GOMEMLIMIT":  `: column 24, "env=GOMEMLIMIT": env "GOMEMLIMIT" and memory: want one of them`,
		"0*subprocess":                           `: a pool of 0 copies, want 1 to 1024`,
		"1025*subprocess":                        `: a pool of 1025 copies, want 1 to 1024`,
		"99999999999999999999*subprocess":        `: a pool of 99999999999999999999 copies, want 1 to 1024`,
		"-1*subprocess":                          `: not known: did you mean subprocess? ` + what,
		"4*":                                     `: column 3, the end: want a placement`,
		"4*moon":                                 `: column 3, "moon": not known: ` + what,
		"4*inprocess":                            `: column 3, "inprocess": a pool of InProcess: want Subprocess or Remote in a pool; in this process, the stages' Mailbox is what has them work on more items at once`,
		"4*2*subprocess":                         `: column 3, "2*subprocess": a pool of pools: want Subprocess or Remote in a pool`,
		"4*x.yaml":                               `: column 3, "x.yaml": a file says where everything is, and not a part: want what is in it`,
		"4*decode=subprocess":                    `: a pool of a region: want a region on a pool, decode=4*subprocess`,
		"a=x.json":                               `: column 3, "x.json": a file says where everything is, and not a part: want what is in it`,
		"=subprocess":                            `: want the name of a stage`,
		"..b=subprocess":                         `: want the name of a stage`,
		"a..=subprocess":                         `: column 4, "=subprocess": want the name of a stage`,
		"a...b=subprocess":                       `: column 4, ".b=subprocess": more than two dots: if they belong to the name of a stage, quote it`,
		"a =subprocess":                          `: spaces around the name of a stage: if they belong to it, quote it`,
		`""=subprocess`:                          `: want the name of a stage between the quotes`,
		`"a=subprocess`:                          `: the quotes do not end, or hold what Go does not read`,
		`"a"subprocess`:                          `: column 4, "subprocess": want = and the placement of the region`,
		"a=":                                     `: column 3, the end: want a placement`,
		"a=subprocess,":                          `: column 14, the end: want the name of a stage`,
		"a=subprocess,b":                         `: column 15, the end: want = and the placement of the region`,
		"a=subprocess,,":                         `: column 14, ",": want the name of a stage`,
		"a=b=subprocess":                         `: column 3, "b=subprocess": not known: did you mean subprocess? ` + what,
		"a=subprocess,b..a=subprocess":           `: column 14, "b..a=subprocess": stage "a" is in another region, too`,
		"a=subprocess,b=moon":                    `: column 16, "moon": not known: ` + what,
		"http://h:1":                             `: address "http://h:1": want tcp://HOST:PORT or dns:///NAME:PORT`,
		"tcp://h":                                `: address "tcp://h": want HOST:PORT behind the slashes`,
		"tcp://:7433":                            `: address "tcp://:7433": no host`,
		"tcp://h:0":                              `: address "tcp://h:0": port "0", want a number from 1 to 65535`,
		"tcp://h:65536":                          `: address "tcp://h:65536": port "65536", want a number from 1 to 65535`,
		"tcp://h:http":                           `: address "tcp://h:http": port "http", want a number from 1 to 65535`,
		"tcp://::1:7433":                         `: address "tcp://::1:7433": want brackets around an IPv6 address, [::1]:7433`,
		"tcp://a/b:1":                            `: address "tcp://a/b:1": "a/b" is no host`,
		"tcp://me@h:1":                           `: address "tcp://me@h:1": "me@h" is no host`,
		"dns://h:1":                              `: address "dns://h:1": want three slashes, dns:///NAME:PORT`,
		"dns:///127.0.0.1:1":                     `: address "dns:///127.0.0.1:1": a name is looked up, and this is an address: want tcp://127.0.0.1:1`,
		"tcp://h:1":                              `: neither a join token nor a certificate: only a loopback address may go without`,
		"tcp://localhost.evil.org:1":             `: neither a join token nor a certificate: only a loopback address may go without`,
		"tcp://h:1?tls":                          `: column 11, "tls": stands for TLS that was set up in code: want cert=FILE&key=FILE&ca=FILE`,
		"tcp://h:1?jion=x":                       `: column 11, "jion=x": a node has no "jion": did you mean join? it has join, cert, key and ca`,
		"tcp://h:1?join=":                        `: column 11, "join=": join: want the name of a file`,
		"tcp://h:1?key=k":                        `: no cert=FILE: the node asks for a certificate of the client`,
		"tcp://h:1?ca=k":                         `: no cert=FILE: the node asks for a certificate of the client`,
		"tcp://h:1?cert=k":                       `: no key=FILE: it belongs to cert=FILE`,
	} {
		p, err := ParsePlacement(text)
		e, ok := errors.AsType[*PlacementError](err)
		if p != nil || !ok || e.Placement != text {
			t.Errorf("%q: %v, %v", text, p, err)
			continue
		}
		if got := err.Error(); got != "placement "+strconv.Quote(text)+want {
			t.Errorf("%q:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestALongPlacementIsQuotedInPart(t *testing.T) {
	text := "a=subprocess?nice=1,b=" + strings.Repeat("x", 41)
	_, err := ParsePlacement(text)
	if want := `: column 23, "` + strings.Repeat("x", 40) + `"...: not known: `; !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = ParsePlacement(text[:len(text)-1])
	if want := `: column 23, "` + strings.Repeat("x", 40) + `": not known: `; !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWhatIsNearIsWhatSomebodyMayHaveMeant(t *testing.T) {
	for word, want := range map[string]string{
		"decode": "decode", "Decode": "decode", "decdoe": "decode", "decod": "decode", "resise": "resize", "reed": "read",
		"x": "", "": "", "moon": "", strings.Repeat("decode", 20): "", "größen": "größe",
	} {
		if got, ok := nearest(word, []string{"read", "decode", "resize", "größe", "", "b"}); got != want || ok != (want != "") {
			t.Errorf("%q is near %q, want %q", word, got, want)
		}
	}
}
