package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

var squares = stages.Define("squares", func(g *stages.Graph, n int) stages.Stream[int] {
	return stages.Map(stages.Source(g, "ints", ints(n)), "square", func(_ context.Context, v int) (int, error) {
		return v * v, nil
	}, stages.Mailbox(2), stages.Ordered)
})

func ExampleDeploy() {
	ctx := context.Background()
	run, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), squares.With(4), supervisor.InProcess{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	for v, err := range run.Items(ctx) {
		if err != nil {
			fmt.Println(err) // the last turn
			return
		}
		fmt.Println(v)
	}
	s := run.Stats()
	fmt.Println(s.Yielded, "=", s.Delivered, "+", s.Filtered, "+", s.Failed, "+", s.InFlight)
	// Output:
	// 0
	// 1
	// 4
	// 9
	// 4 = 4 + 0 + 0 + 0
}

func ExampleItems() {
	for v, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), squares.With(1000), nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if fmt.Println(v); v > 5 {
			break // stops the run
		}
	}
	// Output:
	// 0
	// 1
	// 4
	// 9
}

func ExampleRun_Next() {
	run, err := supervisor.Deploy(context.Background(), supervisor.New(supervisor.Config{}), squares.With(3), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		v, err := run.Next(ctx)
		cancel()
		switch {
		case err == io.EOF:
			return
		case errors.Is(err, context.DeadlineExceeded):
			continue // nothing was consumed
		case err != nil:
			fmt.Println(err)
			return
		}
		fmt.Println(v)
	}
	// Output:
	// 0
	// 1
	// 4
}

func ExampleRun_Epochs() {
	words := stages.Define("words", func(g *stages.Graph, words []string) stages.Stream[[]string] {
		return stages.Batch(stages.Source(g, "words", stages.FromSlice(words), stages.Epochs(2)), "batch", 2)
	})
	ctx := context.Background()
	run, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), words.With([]string{"a", "b", "c"}), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	for epoch, batches := range run.Epochs(ctx) {
		for batch, err := range batches {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(epoch, batch)
		}
	}
	// Output:
	// 0 [a b]
	// 0 [c]
	// 1 [a b]
	// 1 [c]
}

// A task beside each run, which has the run fail if it does.
func ExampleTask() {
	watch := func(ctx context.Context, stats func() supervisor.Stats) error {
		select {
		case <-ctx.Done(): // the run has ended
			fmt.Println("delivered", stats().Delivered)
			return nil
		case <-time.After(time.Hour):
			return errors.New("the credential has expired")
		}
	}
	sup := supervisor.New(supervisor.Config{Background: []supervisor.Task{{Name: "watch", Run: watch, Fatal: true}}})
	for _, err := range supervisor.Items(context.Background(), sup, squares.With(1000), nil) {
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output: delivered 1000
}

// The first interrupt finishes what was begun.
func ExampleRun_Drain() {
	interrupt, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	ctx := context.Background()
	run, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), squares.With(1000), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	context.AfterFunc(interrupt, run.Drain)
	n := 0
	for _, err := range run.Items(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		n++
	}
	fmt.Println(n, run.Err())
	// Output: 1000 <nil>
}

func ExampleLogEvents() {
	logger := zerolog.New(os.Stdout)
	log := supervisor.LogEvents(logger)
	done := make(chan bool)
	sup := supervisor.New(supervisor.Config{Job: "demo", OnEvent: func(e supervisor.Event) {
		switch e := e.(type) {
		case supervisor.ItemFailed:
			e.Run = "" // another one each time
			log(e)
		case supervisor.RunEnded:
			close(done)
		}
	}})
	p := define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(3)), "f", func(_ context.Context, v int) (int, error) {
			return v, errors.New("no")
		}, stages.OnError(stages.Skip(3)))
	})
	for range supervisor.Items(context.Background(), sup, p, nil) {
	}
	<-done
	// Output:
	// {"level":"warn","pipeline":"test","run":"","job":"demo","stage":"f","item":"ints/0/0","attempts":1,"err":"no","message":"item failed"}
	// {"level":"warn","pipeline":"test","run":"","job":"demo","stage":"f","item":"ints/0/1","attempts":1,"err":"no","message":"item failed"}
	// {"level":"warn","pipeline":"test","run":"","job":"demo","stage":"f","item":"ints/0/2","attempts":1,"err":"no","message":"item failed"}
}

// What runs, and where, as a chart for a status page.
func ExampleSupervisor_Runs() {
	sup := supervisor.New(supervisor.Config{})
	run, err := supervisor.Deploy(context.Background(), sup, squares.With(4), supervisor.InProcess{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	for _, r := range sup.Runs() {
		fmt.Println(r.Pipeline)
		fmt.Print(r.Graph())
	}
	// Output:
	// squares
	// flowchart LR
	//   subgraph n0["this process"]
	//     s0(["ints<br/>source"])
	//     s1["square<br/>map, mailbox 2"]
	//   end
	//   out(("the consumer"))
	//   s0 -->|"int, ≤ 1026"| s1
	//   s1 -->|"int, ≤ 1025"| out
}
