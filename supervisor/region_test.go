package supervisor_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// children is what processes of this package's tests may become.
var children *supervisor.Supervisor

func TestMain(m *testing.M) {
	misbehave()
	beNode(batched)
	children = supervisor.Main(slices.Concat(
		[]stages.Blueprint{doubles, shapes, clumsies},
		[]stages.Blueprint{batched, wild, streams, unending, passes},
		[]stages.Blueprint{parted, bottomless, giants},
		[]stages.Blueprint{printers, quarries},
		[]stages.Blueprint{lethals},
		[]stages.Blueprint{accounts, situations},
		bulkPipelines(),
		benchPipelines(),
		laws,
	)...)
	if does := os.Getenv("WEIR_TEST_PARENT"); does != "" {
		os.Exit(beParent(does))
	}
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0") // of children, which are to end at once
	}
	os.Exit(been.count(m.Run()))
}

type span struct{ N, Workers int }

var doubles = stages.Define("doubles", func(g *stages.Graph, cfg span) stages.Stream[int] {
	s := stages.Source(g, "ints", ints(cfg.N))
	s = stages.Map(s, "double", func(_ context.Context, v int) (int, error) { return 2 * v, nil }, stages.Mailbox(cfg.Workers), stages.Ordered)
	return stages.Map(s, "halve", func(_ context.Context, v int) (int, error) { return v / 2, nil })
})

func TestARegionInAChildGivesWhatItWouldHere(t *testing.T) {
	for _, c := range []struct {
		name string
		at   supervisor.Placement
	}{
		{"one stage", supervisor.Regions{{From: "double", On: supervisor.Subprocess{}}}},
		{"two stages", supervisor.Regions{{From: "double", To: "halve", On: supervisor.Subprocess{}}}},
		{"all of it", supervisor.Subprocess{}},
		{"a pool", supervisor.Regions{{From: "double", To: "halve", On: supervisor.Pool{Size: 2, Of: supervisor.Subprocess{}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run, err := supervisor.Deploy(t.Context(), children, doubles.With(span{20_000, 4}), c.at)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for v, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, v)
			}
			if err := run.Stop(); err != nil {
				t.Error(err)
			}
			checkCount(t, got, 20_000)
			t.Logf("%+v", run.Stats())
		})
	}
}
