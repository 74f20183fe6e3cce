package child

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestAChildSeesWhatItWasGiven(t *testing.T) {
	t.Setenv("SECRET_KEY", "hunter2")
	t.Setenv("LC_ALL", "C")
	t.Setenv("SSL_CERT_FILE", "/certs")
	t.Setenv("GOMAXPROCS", "7")
	t.Setenv("TZ", "UTC")
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("of the arena"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cpu := firstCPU(t)
	p := started(t, "report", Spec{Nice: 3, CPUs: []int{cpu}, MaxProcs: 3, MemoryBytes: 512 << 20, Files: []*os.File{file},
		Env: []string{"TZ=Asia/Tokyo", "MINE=1=2"}})
	var s sight
	answer(t, p, &s)

	for _, v := range []string{"LC_ALL=C", "SSL_CERT_FILE=/certs", "TZ=Asia/Tokyo", "MINE=1=2", "GOMAXPROCS=3", "GOMEMLIMIT=536870912", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(s.Env, v) {
			t.Errorf("no %s in %q", v, s.Env)
		}
	}
	for _, v := range append(s.Env, s.Args...) {
		if strings.Contains(v, "hunter2") || strings.HasPrefix(v, marker) || v == "TZ=UTC" {
			t.Errorf("the child has %q", v)
		}
	}
	switch {
	case s.MaxProcs != 3, s.NumCPU != 1, s.MemLimit != 512<<20, s.Data != 768<<20:
		t.Errorf("limits: %+v", s)
	case s.Stdin != os.DevNull, s.StdinBytes != 0:
		t.Errorf("stdin: %+v", s)
	case s.Group != p.Pid():
		t.Errorf("process group %d of process %d", s.Group, p.Pid())
	case !slices.Equal(s.Files, []string{"of the arena"}):
		t.Errorf("files: %q", s.Files)
	case !slices.Equal(s.Inherited, handedDown()): // those that the test itself was started with
		t.Errorf("descriptors that what it starts gets too: %v", s.Inherited)
	case s.StillMarked, !strings.Contains(s.EnterAgain, ErrNotChild.Error()):
		t.Errorf("it may enter again: %v, %q", s.StillMarked, s.EnterAgain)
	case len(s.Args) != 1, s.Args[0] != filepath.Base(os.Args[0])+": child":
		t.Errorf("args: %q", s.Args)
	case !strings.HasPrefix(s.Args[0], s.Comm), s.Comm == "exe":
		t.Errorf("it is called %q", s.Comm)
	}
	if len(s.Nice) == 0 || slices.ContainsFunc(s.Nice, func(n int) bool { return n != s.Nice[0] }) || s.Nice[0] < 3 {
		t.Errorf("niceness of its threads: %v", s.Nice)
	}
	if _, err := file.Stat(); err != nil {
		t.Errorf("the file is the caller's: %v", err)
	}
}

// firstCPU is one that this process may run on.
func firstCPU(t *testing.T) int {
	t.Helper()
	for cpu := range runtime.NumCPU() + 64 {
		p, err := Start(Spec{CPUs: []int{cpu}, Env: environ("exit")})
		if err != nil {
			continue
		}
		<-p.Exited()
		_ = p.Conn().Close()
		return cpu
	}
	t.Fatal("there is no processor")
	return 0
}

func TestAChildIsLikeItsParentWithoutASpec(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	_ = os.Unsetenv("GOMAXPROCS")
	t.Setenv("HOME", "")
	_ = os.Unsetenv("HOME")
	t.Setenv("TMPDIR", "/"+strings.Repeat("no/such/", 30))
	p := started(t, "report", Spec{})
	var s sight
	answer(t, p, &s)
	if s.NumCPU != runtime.NumCPU() || s.MaxProcs < 1 || len(s.Files) != 0 || s.MemLimit != 1<<63-1 {
		t.Errorf("%+v", s)
	}
	if slices.ContainsFunc(s.Env, func(v string) bool { return strings.HasPrefix(v, "HOME=") }) {
		t.Errorf("HOME is set: %q", s.Env)
	}
}

func TestWhatAChildStartsIsNoChild(t *testing.T) {
	p := started(t, "again", Spec{})
	b, err := io.ReadAll(p.Conn())
	if string(b) != "a child: false\n" {
		t.Errorf("%q, %v\n%s", b, err, p.Exit().Tail)
	}
}

func TestAMarkerAloneMakesNoChild(t *testing.T) {
	for _, v := range []string{"0", "1", "-1", "x", "1000000000"} {
		if _, lines := parent(t, "is child", marker+"="+v); !slices.Equal(lines, []string{"a child: false"}) {
			t.Errorf("%s: %q", v, lines)
		}
	}
}

func TestABadSpecIsRefused(t *testing.T) {
	before := census(t)
	for name, spec := range map[string]Spec{
		"niceness":          {Nice: 20},
		"processor":         {CPUs: []int{-1}},
		"no such processor": {CPUs: []int{maxCPU - 1}},
		"one of them":       {CPUs: []int{firstCPU(t), maxCPU - 1}},
		"processors":        {CPUs: []int{1 << 20}},
		"GOMAXPROCS":        {MaxProcs: -1},
		"memory":            {MemoryBytes: -1},
		"variable":          {Env: []string{"NOVALUE"}},
		"name":              {Env: []string{"=x"}},
		"marker":            {Env: []string{marker + "=3"}},
		"zero byte":         {Env: []string{"A=\x00"}},
		"file":              {Files: []*os.File{nil}},
	} {
		if p, err := Start(spec); !errors.Is(err, ErrSpec) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	before.sameAgain(t)
}
