package supervisortest

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/supervisor"
)

// longest is the last pause between two looks. All pauses together take about four seconds.
const longest = 2 * time.Second

// checkGoroutines wants no goroutine of the run. One that has said that it ends may take a moment to do so, and nothing
// tells when it has: it is looked for again, in pauses that double. That goes for the run's own, too: it is the last of
// them that says that all have ended.
func checkGoroutines(t testing.TB, id supervisor.RunID) {
	t.Helper()
	left := goroutines(id)
	for pause := time.Millisecond; len(left) > 0 && pause < longest; pause *= 2 {
		<-time.After(pause)
		left = goroutines(id)
	}
	if len(left) > 0 {
		t.Errorf("goroutines are left:\n%s", strings.Join(left, "\n\n"))
	}
}

// goroutines returns the stacks of the run's goroutines. They are known by their labels, which those that user code
// starts inherit.
func goroutines(id supervisor.RunID) (stacks []string) {
	for _, g := range actors.Goroutines().Stacks(actors.LabelRun, string(id)) {
		if !standard(g) {
			stacks = append(stacks, g)
		}
	}
	return stacks
}

// standard reports whether a group of the goroutine profile runs code of the standard library only.
func standard(group string) bool {
	const known = "strings/strings.go"
	f := runtime.FuncForPC(reflect.ValueOf(strings.Index).Pointer())
	file, _ := f.FileLine(f.Entry())
	root := strings.TrimSuffix(file, known)
	for line := range strings.Lines(group) {
		if !strings.HasPrefix(line, "#\t0x") {
			continue
		}
		file := line[strings.LastIndex(line, "\t")+1:]
		first, _, _ := strings.Cut(file, "/")
		// Without paths of this machine, as by -trimpath, a module is known by the dot of its host.
		if !strings.HasPrefix(file, root) || root == "" && strings.Contains(first, ".") {
			return false
		}
	}
	return true
}
