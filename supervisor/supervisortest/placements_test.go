package supervisortest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
	"github.com/weirflow/weir/supervisor/supervisortest"
)

// A recorder is a testing.TB that remembers what was said.
type recorder struct {
	testing.TB
	errors, logs []string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

func identity(_ context.Context, v int) (int, error) { return v, nil }

// whole has a stage with a state between others that have none, the longer part of them behind it.
var whole = stages.Define("whole", func(g *stages.Graph, n int) stages.Stream[int] {
	s := stages.Map(stages.Source(g, "ints", stages.FromSlice(slices.Repeat([]int{7}, n))), "a", identity)
	b := stages.Unbatch(stages.Batch(stages.Map(s, "b", identity), "batch", 3), "unbatch")
	return stages.Map(stages.Map(b, "c", identity), "d", identity)
})

// local has a source of this process, and values that cannot be encoded.
var local = stages.Define("local", func(g *stages.Graph, _ int) stages.Stream[any] {
	ints := make(chan any, 1)
	ints <- 1
	close(ints)
	return stages.Map(stages.Source(g, "ints", stages.FromChan((<-chan any)(ints))), "same", func(_ context.Context, v any) (any, error) { return v, nil })
})

func names(all iter.Seq2[string, supervisor.Placement]) (names []string) {
	for name, at := range all {
		if name != at.String() {
			panic("a placement with another name")
		}
		names = append(names, name)
	}
	return names
}

func TestCollectReturnsAllOnEveryPlacement(t *testing.T) {
	n := 0
	p := whole.With(1000)
	for name, at := range supervisortest.Placements(t, sup, p) {
		n++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, stats, err := supervisortest.CollectStats(t, sup, p, at)
			if err != nil || len(got) != 1000 || got[999] != 7 || stats.Delivered != 1000 {
				t.Errorf("%d items, %v, %+v", len(got), err, stats)
			}
		})
	}
	if n < 3 {
		t.Errorf("%d placements", n)
	}
	for range supervisortest.Placements(t, sup, p) {
		break // is allowed
	}
}

func TestPlacementsAreThoseThatTheGraphCanHave(t *testing.T) {
	r := &recorder{TB: t}
	got := names(supervisortest.Placements(r, sup, whole.With(1)))
	if len(r.errors) > 0 || len(got) != 5 || !slices.Contains(got, "inprocess") || !slices.Contains(got, "unbatch..d=2*subprocess") {
		t.Errorf("got %q, %q", got, r.errors)
	}
	r = &recorder{TB: t}
	got = names(supervisortest.Placements(r, sup, local.With(1)))
	if !slices.Equal(got, []string{"inprocess"}) || len(r.errors) > 0 {
		t.Errorf("got %q, %q", got, r.errors)
	}
	if len(r.logs) != 4 || !strings.Contains(r.logs[0], `pipeline "local" is not run at subprocess: `) ||
		!strings.Contains(r.logs[1], `"local" is not run at tcp://localhost: `) || !strings.Contains(r.logs[2], `"local" is not run at ints=2*subprocess: `) {
		t.Errorf("got %q", r.logs)
	}
}

func TestTheNodeAsksForItsTokenAndEndsWithTheTest(t *testing.T) {
	var addr string
	t.Run("while it is there", func(t *testing.T) {
		for name, at := range supervisortest.Placements(t, sup, squares.With([]int{2})) {
			if !strings.HasPrefix(name, "tcp://127.0.0.1:") {
				continue
			}
			again, err := supervisor.ParsePlacement(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := supervisortest.Collect(t, sup, squares.With([]int{3}), again)
			if err != nil || !slices.Equal(got, []int{9}) {
				t.Errorf("%v, %v", got, err)
			}
			addr = strings.TrimPrefix(at.(supervisor.Remote).Addr, "tcp://")
			_, err = supervisortest.Collect(t, sup.With(supervisor.Config{Restart: stages.Restart{Max: 1}}), squares.With([]int{3}), supervisor.Remote{Addr: "tcp://" + addr})
			if auth, ok := errors.AsType[*supervisor.AuthError](err); !ok {
				t.Errorf("a program without the token: %v, %v", auth, err)
			}
		}
	})
	if c, err := net.Dial("tcp", addr); addr == "" || err == nil {
		t.Errorf("something is at %q still", addr)
		c.Close()
	}
}

func TestASupervisorWithoutMainIsToldWhatToAdd(t *testing.T) {
	for name, s := range map[string]*supervisor.Supervisor{"New": supervisor.New(supervisor.Config{}), "Main for others": sup} {
		r := &recorder{TB: t}
		p := stages.Define("strange", func(g *stages.Graph, n int) stages.Stream[int] {
			return stages.Map(stages.Source(g, "ints", stages.FromSlice([]int{n})), "a", identity)
		}).With(1)
		got := names(supervisortest.Placements(r, s, p))
		if !slices.Equal(got, []string{"inprocess"}) || len(r.errors) != 1 || !strings.Contains(r.errors[0], "sup = supervisor.Main(") {
			t.Errorf("%s: got %q, %q", name, got, r.errors)
		}
	}
}
