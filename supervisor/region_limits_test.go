package supervisor_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

func TestAConfigurationThatIsTooLargeToGoAlongIsRefused(t *testing.T) {
	child, node := supervisor.Subprocess{}, supervisor.Remote{Addr: "tcp://127.0.0.1:1"}
	for _, c := range []struct {
		size int
		at   supervisor.Placement
		want string // "": nothing is wrong
	}{
		{15 << 20, child, ""},
		{16 << 20, child, "the configuration takes 16777"},
		{959 << 10, node, ""},
		{960 << 10, supervisor.Regions{{From: "last", On: child}, {From: "second", On: supervisor.Pool{Size: 2, Of: node}}}, "the configuration takes 983"},
	} {
		err := supervisor.Check(children, quarries.With(quarry{Of: strings.Repeat("x", c.size), Workers: 1}), c.at)
		switch wrong := new(supervisor.PlacementError); {
		case c.want == "" && err == nil:
		case !errors.As(err, &wrong) || c.want == "" || !strings.Contains(wrong.Reason, c.want):
			t.Errorf("%d bytes at %v: %v", c.size, c.at, err)
		}
	}
}

// A situation is what a process can see of its own limits.
type situation struct {
	Nice   string // of the process, as in /proc/self/stat
	CPUs   string
	Data   string // the limit of data
	Procs  int
	Memory int64 // GOMEMLIMIT
	Env    []string
}

// situations gives one item: the situation of the stage "look".
var situations = stages.Define("situations", func(g *stages.Graph, _ struct{}) stages.Stream[situation] {
	return stages.Map(stages.Source(g, "one", ints(1)), "look", func(context.Context, int) (situation, error) { return lookAround(), nil })
})

func lookAround() situation {
	p := situation{Procs: runtime.GOMAXPROCS(0), Memory: debug.SetMemoryLimit(-1), Env: os.Environ()}
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		_, behind, _ := strings.Cut(string(stat), ") ") // the name may have spaces
		if f := strings.Fields(behind); len(f) > 16 {
			p.Nice = f[16] // field 19 of proc_pid_stat(5)
		}
	}
	p.CPUs = procLine("/proc/self/status", "Cpus_allowed_list:")
	p.Data = procLine("/proc/self/limits", "Max data size")
	return p
}

// procLine returns what is behind a name in a file of lines.
func procLine(file, name string) string {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		if behind, ok := strings.CutPrefix(line, name); ok {
			return strings.Join(strings.Fields(behind), " ")
		}
	}
	return ""
}
