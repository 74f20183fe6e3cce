package supervisor_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

type said struct{ Items, Lines int }

// printers print a number of lines for each item.
var printers = stages.Define("printers", func(g *stages.Graph, cfg said) stages.Stream[int] {
	return stages.Map(stages.Source(g, "ints", ints(cfg.Items)), "print", func(_ context.Context, v int) (int, error) {
		for i := range cfg.Lines {
			fmt.Fprintf(os.Stderr, "item %d line %d\n", v, i)
		}
		fmt.Printf("item %d is done\n", v)
		return v, nil
	})
})

var inChild = supervisor.Regions{{From: "print", On: supervisor.Subprocess{}}}

// drained runs the pipeline to its end, and returns what it wrote to this process's stderr meanwhile.
func drained(t *testing.T, s *supervisor.Supervisor, cfg said, listen func(*supervisor.Run[int])) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	own := os.Stderr
	os.Stderr = w
	defer func() { os.Stderr = own }()
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		text <- string(b)
	}()
	run, err := supervisor.Deploy(t.Context(), s, printers.With(cfg), inChild)
	if err != nil {
		t.Fatal(err)
	}
	if listen != nil {
		listen(run)
	}
	for _, err := range run.Items(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
	run.Stop()
	run.Wait(t.Context())
	w.Close()
	return <-text
}

func TestWhatAChildPrintsIsOnStderrIfNobodyListens(t *testing.T) {
	got := strings.Split(strings.TrimSuffix(drained(t, children, said{2, 1}, nil), "\n"), "\n")
	slices.Sort(got) // stdout and stderr are two streams
	want := []string{"[print/0] item 0 is done", "[print/0] item 0 line 0", "[print/0] item 1 is done", "[print/0] item 1 line 0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestWhatAChildPrintsAreEventsForAListener(t *testing.T) {
	var heard []string
	s := children.With(supervisor.Config{OnEvent: func(e supervisor.Event) {
		if o, ok := e.(supervisor.NodeOutput); ok {
			heard = append(heard, o.Node+": "+o.Line)
		}
	}})
	if got := drained(t, s, said{1, 1}, nil); got != "" {
		t.Errorf("stderr: %q", got)
	}
	if slices.Sort(heard); !slices.Equal(heard, []string{"print/0: item 0 is done", "print/0: item 0 line 0"}) {
		t.Errorf("heard %q", heard)
	}
}

func TestALoopOverEventsIsAListener(t *testing.T) {
	began, ended := make(chan bool), make(chan []string)
	got := drained(t, children, said{1, 1}, func(run *supervisor.Run[int]) {
		go func() {
			var heard []string
			for e := range run.Events(t.Context()) {
				switch e := e.(type) {
				case supervisor.RunStarted:
					close(began)
				case supervisor.NodeOutput:
					heard = append(heard, e.Line)
				}
			}
			ended <- heard
		}()
		<-began
	})
	if heard := <-ended; len(heard) != 2 || got != "" {
		t.Errorf("heard %q, stderr %q", heard, got)
	}
}

// What is worth more than a line of output is still known after any number of those.
func TestAFloodOfOutputDropsNoOtherEvent(t *testing.T) {
	lines, started, ended, lost := 0, 0, 0, int64(0)
	s := children.With(supervisor.Config{OnEvent: func(supervisor.Event) {}})
	run, err := supervisor.Deploy(t.Context(), s, printers.With(said{3, 2000}), inChild)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range run.Items(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
	run.Stop()
	run.Wait(t.Context())
	for e := range run.Events(t.Context()) {
		switch e := e.(type) {
		case supervisor.NodeOutput:
			lines++
		case supervisor.RunStarted:
			started++
		case supervisor.RunEnded:
			ended++
		case supervisor.EventsLost:
			lost += e.Count
		}
	}
	if started != 1 || ended != 1 || lines == 0 || lines > 1000 || int64(lines)+lost < 6003 {
		t.Errorf("%d started, %d ended, %d lines, %d lost", started, ended, lines, lost)
	}
}
