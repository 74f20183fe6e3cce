package stages_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/weirflow/weir/stages"
)

func parse(_ context.Context, s string) (int, error) { return strconv.Atoi(s) }

// A hook around every item: here it says what has failed, with the item itself, and leaves the error as it is.
func ExampleGraph_Hook() {
	p := stages.Define("parse", func(g *stages.Graph, texts []string) stages.Stream[int] {
		g.Hook(stages.Hook{ItemExit: func(_ context.Context, it stages.Item, err error) error {
			if err != nil {
				text, _ := stages.Value[string](it)
				fmt.Printf("%s: %v, %q, has failed\n", it.Stage, it.ID, text)
			}
			return err // nil would drop the item, as a Filter does
		}})
		in := stages.Source(g, "texts", stages.FromSlice(texts))
		return stages.Map(in, "parse", parse, stages.OnError(stages.Skip(10)))
	})
	show(p.With([]string{"1", "two", "3"}))
	// Unordered output:
	// 1
	// parse: texts/0/1, "two", has failed
	// 3
}

// A key is one worker of a stage.
type key struct {
	stage  string
	worker int
}

// times adds up what the stages of a run take, for workers that call at the same time.
type times struct {
	mu    sync.Mutex
	since map[key]time.Time        // guarded by mu
	took  map[string]time.Duration // guarded by mu; by stage
	count map[string]int           // guarded by mu; by stage
}

func newTimes() *times {
	return &times{since: map[key]time.Time{}, took: map[string]time.Duration{}, count: map[string]int{}}
}

func (t *times) begin(k key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since[k] = time.Now()
}

func (t *times) end(k key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.took[k.stage] += time.Since(t.since[k])
	t.count[k.stage]++
}

// How long each stage's attempts take. A worker has one at a time, so its Enter and its Exit belong together.
func ExampleHook() {
	t := newTimes()
	p := stages.Define("parse", func(g *stages.Graph, texts []string) stages.Stream[[]int] {
		g.Hook(stages.Hook{
			ItemEnter: func(_ context.Context, it stages.Item) error {
				t.begin(key{it.Stage, it.Worker})
				return nil
			},
			ItemExit: func(_ context.Context, it stages.Item, err error) error {
				t.end(key{it.Stage, it.Worker})
				return err
			},
		})
		in := stages.Source(g, "texts", stages.FromSlice(texts))
		n := stages.Map(in, "parse", parse, stages.Mailbox(4), stages.Ordered)
		return stages.Batch(n, "batch", 2)
	})
	show(p.With([]string{"1", "2", "3"}))
	for _, stage := range []string{"parse", "batch"} {
		fmt.Println(stage, "has had", t.count[stage], "attempts, of less than a minute:", t.took[stage] < time.Minute)
	}
	// Output:
	// [1 2]
	// [3]
	// parse has had 3 attempts, of less than a minute: true
	// batch has had 3 attempts, of less than a minute: true
}
