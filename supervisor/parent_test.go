package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// beParent is what a process is that a test starts as the parent of children. It returns its exit status.
func beParent(does string) int {
	switch does {
	case "runs", "blocks", "begins":
		parentOf(does)
	case "tries":
		return tryAll()
	}
	return 2
}

// spreads are placements with a pool, a region that is fed from here, and one that has the whole graph.
func spreads() map[string]supervisor.Placement {
	child := supervisor.Subprocess{}
	return map[string]supervisor.Placement{
		"a pool": supervisor.Regions{
			{From: "first", To: "second", On: supervisor.Pool{Size: 2, Of: child}},
			{From: "small", To: "last", On: child},
		},
		"the whole": child,
	}
}

// parentOf has runs without an end, until it is killed.
func parentOf(does string) {
	for {
		var runs []*supervisor.Run[[]int]
		for _, at := range spreads() {
			run, err := supervisor.Deploy(context.Background(), children, quarries.With(quarry{N: 1 << 40, Of: "many", Batches: 1, Workers: 4}), at)
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			runs = append(runs, run)
		}
		if does == "begins" {
			fmt.Println("begins")
			<-time.After(15 * time.Millisecond)
			for _, run := range runs {
				_ = run.Stop()
			}
			continue
		}
		for _, run := range runs {
			if _, err := run.Next(context.Background()); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		if does == "blocks" {
			for yielded := int64(-1); yielded != runs[0].Stats().Yielded+runs[1].Stats().Yielded; {
				yielded = runs[0].Stats().Yielded + runs[1].Stats().Yielded
				<-time.After(50 * time.Millisecond)
			}
			fmt.Println("there")
			select {}
		}
		fmt.Println("there")
		go func() {
			for range runs[0].Items(context.Background()) {
			}
		}()
		for range runs[1].Items(context.Background()) {
		}
	}
}

// tryAll runs graphs in all ways once, and says what came of it.
func tryAll() (status int) {
	for name, at := range spreads() {
		for _, c := range []quarry{{Of: "many", Batches: 1, Workers: 4, Ordered: true}, {Of: "tee", Batches: 1, Workers: 2}} {
			c.N = 1000
			begun := time.Now()
			err := runOnce(c, at)
			node, typed := errors.AsType[*supervisor.NodeError](err)
			switch {
			case err == nil:
				fmt.Println("fine")
			case typed && node.Region != "" && errors.Is(err, syscall.EMFILE):
				fmt.Println("no descriptors left")
			default:
				fmt.Printf("%s, %v: %v\n", name, c, err)
				status = 1
			}
			if took := time.Since(begun); took > 5*time.Second {
				fmt.Printf("%s, %v: it took %v\n", name, c, took)
				status = 1
			}
		}
	}
	return status
}

func runOnce(c quarry, at supervisor.Placement) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	few := children.With(supervisor.Config{Restart: stages.Restart{Max: 3, First: time.Millisecond, Pause: 100 * time.Millisecond}})
	run, err := supervisor.Deploy(ctx, few, quarries.With(c), at)
	if err != nil {
		return err
	}
	var got []int
	for b, e := range run.Items(ctx) {
		if err = e; err == nil {
			got = append(got, b...)
		}
	}
	if err = errors.Join(err, run.Stop()); err != nil {
		return err
	}
	return c.check(got, run.Stats())
}
