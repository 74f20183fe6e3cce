package supervisor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

func TestARunSaysWhereItsRegionsAre(t *testing.T) {
	run, err := supervisor.Deploy(t.Context(), children, doubles.With(span{10, 4}), supervisor.Regions{
		{From: "double", On: supervisor.Pool{Size: 3, Of: supervisor.Subprocess{Nice: 1}}},
		{From: "halve", On: supervisor.Subprocess{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Stop()
	var where []string
	for _, st := range run.Stats().Stages {
		where = append(where, st.Where)
	}
	if !slices.Equal(where, []string{"inprocess", "3*subprocess?nice=1", "subprocess"}) {
		t.Errorf("got %q", where)
	}
	text := run.String()
	for _, want := range []string{
		"  this process\n", "  double: 3*subprocess?nice=1\n", "  halve: subprocess\n",
		"Region \"double\" has 3 processes; the mailboxes and rooms of its stages are per copy. At most 1036 items are there at once.\n",
		"Region \"halve\" has a process of its own. At most 1026 items are there at once.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	infos := children.Runs()
	k := slices.IndexFunc(infos, func(i supervisor.RunInfo) bool { return i.ID == run.ID() })
	if k < 0 {
		t.Fatal("the run is not one of its supervisor's")
	}
	chart := infos[k].Graph()
	for _, want := range []string{
		"subgraph n0[\"this process\"]\n    s0", "subgraph n1[\"double#58; 3#42;subprocess#63;nice#61;1\"]\n    s1", "subgraph n2[\"halve#58; subprocess\"]\n    s2",
	} {
		if !strings.Contains(chart, want) {
			t.Errorf("no %q in:\n%s", want, chart)
		}
	}
}

func TestCheckRefusesWhatDeployWould(t *testing.T) {
	p := doubles.With(span{10, 4})
	for _, at := range []supervisor.Placement{
		nil, supervisor.InProcess{}, supervisor.Subprocess{Nice: 40}, supervisor.Regions{{From: "double", On: supervisor.Subprocess{}}},
		supervisor.Regions{{From: "nothing", On: supervisor.Subprocess{}}}, supervisor.Pool{Size: 2, Of: supervisor.Subprocess{}},
	} {
		for _, s := range []*supervisor.Supervisor{nil, children, supervisor.New(supervisor.Config{}), supervisor.New(supervisor.Config{Grace: -1})} {
			want := ""
			run, err := supervisor.Deploy(t.Context(), s, p, at)
			if err != nil {
				want = err.Error()
			} else {
				run.Stop()
			}
			got := ""
			if err := supervisor.Check(s, p, at); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("at %v: Check says %q, Deploy says %q", at, got, want)
			}
		}
	}
}
