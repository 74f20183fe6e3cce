package supervisor_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

// What a Subprocess asks for is what its child has, and this process has not; of its environment it has what is listed.
func TestAChildHasWhatItsPlacementSays(t *testing.T) {
	t.Setenv("WEIR_TEST_SECRET", "of this process")
	t.Setenv("WEIR_TEST_HANDED_ON", "as it is here")
	here := lookAround()
	first, _, _ := strings.Cut(strings.ReplaceAll(here.CPUs, "-", ","), ",")
	cpu, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("processors %q: %v", here.CPUs, err)
	}
	at := supervisor.Subprocess{Nice: 7, CPUs: []int{cpu}, GOMAXPROCS: 3, MemoryBytes: 1 << 30, ArenaBytes: 1 << 20, Env: []string{"WEIR_TEST_GIVEN=a=b", "WEIR_TEST_HANDED_ON"}}
	got, err := collectAt(t, children, situations.With(struct{}{}), regionAt("look", "look", at))
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	p := got[0]
	nice, err := strconv.Atoi(here.Nice)
	if want := strconv.Itoa(min(nice+7, 19)); err != nil || p.Nice != want {
		t.Errorf("niceness %s, want %s: %v", p.Nice, want, err)
	}
	const data = 1<<30 + 256<<20
	if want := strconv.Itoa(data); p.CPUs != first || p.Procs != 3 || p.Memory != 1<<30 || !strings.HasPrefix(p.Data, want+" "+want) {
		t.Errorf("%+v", p)
	}
	for _, v := range []string{"WEIR_TEST_GIVEN=a=b", "WEIR_TEST_HANDED_ON=as it is here"} {
		if !slices.Contains(p.Env, v) {
			t.Errorf("%q is not in %q", v, p.Env)
		}
	}
	for _, v := range p.Env {
		if strings.HasPrefix(v, "WEIR_TEST_SECRET") {
			t.Errorf("%q has been handed on", v)
		}
	}
	if now := lookAround(); now.Nice != here.Nice || now.CPUs != here.CPUs || now.Data != here.Data {
		t.Errorf("this process was %+v and is %+v", here, now)
	}
}
