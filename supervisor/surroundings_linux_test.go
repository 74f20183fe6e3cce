package supervisor_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// tries runs graphs in all ways in a process of its own, which a shell begins with some words first. It returns what came of them.
func tries(t *testing.T, first string, env ...string) (lines []string, ok bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", first+`
exec "$0"`, exe)
	cmd.Env = append(os.Environ(), append([]string{"WEIR_TEST_PARENT=tries"}, env...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err == nil
}

// Little is there: processors, memory, descriptors. Runs are slower, or end with an error that says so; none stands still.
func TestF43RunsNeedLittle(t *testing.T) {
	for name, c := range map[string]struct{ first, env string }{
		"one processor":      {"", "GOMAXPROCS=1"},
		"little memory":      {"", "GOMEMLIMIT=24MiB"},
		"64 descriptors":     {"ulimit -n 64", ""},
		"a low priority":     {"renice -n 19 $$ >/dev/null", ""},
		"nobody else's time": {"(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done) & (i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done) &", "GOMAXPROCS=1"},
	} {
		t.Run(name, func(t *testing.T) {
			lines, ok := tries(t, c.first, c.env)
			for _, line := range lines {
				if line != "fine" || !ok {
					t.Error(line)
				}
			}
		})
	}
}

// Without descriptors a run ends with an error that says so, and names the node.
func TestF43WithoutDescriptorsARunSaysSo(t *testing.T) {
	counts := map[string]int{}
	for _, n := range []string{"12", "18", "24", "30", "40"} {
		lines, ok := tries(t, "ulimit -n "+n)
		for _, line := range lines {
			if counts[line]++; !ok {
				t.Errorf("%s descriptors: %s", n, line)
			}
		}
	}
	t.Log(counts)
	if counts["fine"] == 0 || counts["no descriptors left"] == 0 {
		t.Error("not all that may happen has happened")
	}
}

// A program may have been started in any way.
func TestF45AProgramNeedsNoSurroundings(t *testing.T) {
	for name, first := range map[string]string{
		"no home":              "unset HOME",
		"no temporary files":   "export TMPDIR=/does/not/exist",
		"a long TMPDIR":        "export TMPDIR=/" + strings.Repeat("very-long/", 30),
		"no stdin":             "exec <&-",
		"no stdin and stderr":  "exec <&- 2>&-",
		"an empty environment": `exec env -i WEIR_TEST_PARENT=tries "$0"`,
		"nowhere":              `d=$(mktemp -d); cd "$d"; rmdir "$d"`,
	} {
		t.Run(name, func(t *testing.T) {
			lines, ok := tries(t, first)
			for _, line := range lines {
				if line != "fine" || !ok {
					t.Error(line)
				}
			}
		})
	}
}
