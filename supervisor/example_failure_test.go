package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// What docs/failure-handling.md shows of items.

func number(_ context.Context, word string) (int, error) { return strconv.Atoi(word) }

// The default: the first item that fails ends the run, behind what came before it.
func Example_itemFailure() {
	p := define(func(g *stages.Graph) stages.Stream[int] {
		words := stages.Source(g, "words", stages.FromSlice([]string{"1", "two", "3"}))
		return stages.Map(words, "number", number)
	})
	for n, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), p, nil) {
		if err != nil {
			fmt.Println(err) // the last turn
			item, ok := errors.AsType[*stages.ItemError](err)
			fmt.Println(ok, item.Stage, item.Item, item.Attempts)
			break
		}
		fmt.Println(n)
	}
	// Output:
	// 1
	// pipeline "test": stage "number": item words/0/1 failed: strconv.Atoi: parsing "two": invalid syntax
	// true number words/0/1 1
}

func Example_skip() {
	p := define(func(g *stages.Graph) stages.Stream[int] {
		words := stages.Source(g, "words", stages.FromSlice([]string{"1", "two", "3", "four", "5"}))
		return stages.Map(words, "number", number, stages.OnError(stages.Skip(10)))
	})
	run, err := supervisor.Deploy(context.Background(), supervisor.New(supervisor.Config{}), p, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	for n, err := range run.Items(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(n)
	}
	s := run.Stats()
	fmt.Println(s.Yielded, "yielded,", s.Delivered, "delivered,", s.Failed, "failed")
	for _, f := range s.Failures {
		fmt.Println(f.Item, f.Err)
	}
	fmt.Println("it may still fail for", s.Stages[1].Tolerated)
	// Output:
	// 1
	// 3
	// 5
	// 5 yielded, 3 delivered, 2 failed
	// words/0/1 strconv.Atoi: parsing "two": invalid syntax
	// words/0/3 strconv.Atoi: parsing "four": invalid syntax
	// it may still fail for 8
}

// A budget of one lasts for one failure. The second ends the run.
func Example_budget() {
	p := define(func(g *stages.Graph) stages.Stream[int] {
		words := stages.Source(g, "words", stages.FromSlice([]string{"1", "two", "3", "four", "5"}))
		return stages.Map(words, "number", number, stages.OnError(stages.Skip(1)))
	})
	for n, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), p, nil) {
		if err != nil {
			item, _ := errors.AsType[*stages.ItemError](err)
			fmt.Println(errors.Is(err, stages.ErrBudget), item.Item)
			break
		}
		fmt.Println(n)
	}
	// Output:
	// 1
	// 3
	// true words/0/3
}

// Each stage would bear it, but not the run.
func Example_budgetOfTheRun() {
	p := define(func(g *stages.Graph) stages.Stream[int] {
		words := stages.Source(g, "words", stages.FromSlice([]string{"1", "two", "-3", "-4", "5"}))
		numbers := stages.Map(words, "number", number, stages.OnError(stages.Skip(stages.Fraction(0.5))))
		return stages.Map(numbers, "root", func(_ context.Context, n int) (int, error) {
			if n < 0 {
				return 0, errors.New("it has no root")
			}
			return n, nil
		}, stages.OnError(stages.Skip(100)))
	})
	sup := supervisor.New(supervisor.Config{
		MaxFailed:         2,    // source items, in all stages together
		MaxFailedFraction: 0.75, // of what the sources have yielded
		Probation:         1000, // fractions are judged from here on, and at the end
	})
	var last error
	for _, err := range supervisor.Items(context.Background(), sup, p, nil) {
		last = err
	}
	fmt.Println(errors.Is(last, stages.ErrBudget))
	// Output: true
}

var errBusy = errors.New("the server is busy")

// A server that is busy is asked again; what it says no to is not.
func Example_retry() {
	fetch := func(ctx context.Context, name string) (string, error) {
		if name == "b" && stages.Attempt(ctx) < 3 {
			return "", fmt.Errorf("fetch %s: %w", name, errBusy)
		}
		return fmt.Sprint(name, " at attempt ", stages.Attempt(ctx)), nil
	}
	p := define(func(g *stages.Graph) stages.Stream[string] {
		names := stages.Source(g, "names", stages.FromSlice([]string{"a", "b"}))
		return stages.Map(names, "fetch", fetch, stages.Mailbox(8), stages.Ordered, stages.Retry{
			Attempts: 5,                     // in all
			First:    10 * time.Millisecond, // then twice as long each time
			If:       func(err error) bool { return errors.Is(err, errBusy) },
		})
	})
	for s, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), p, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s)
	}
	// Output:
	// a at attempt 1
	// b at attempt 3
}

var (
	errSlow       = errors.New("timed out")
	errCredential = errors.New("the credential is refused")
)

// The function itself says what an error means.
func Example_retryable() {
	answers := []error{nil, errSlow, errors.New("no such page"), errCredential}
	fetch := func(ctx context.Context, i int) (int, error) {
		switch err := answers[i]; {
		case err == errSlow && stages.Attempt(ctx) == 1:
			return 0, stages.Retryable(err) // tried again, three times in all
		case err == errCredential:
			return 0, stages.Fatal(err) // it ends the run, whatever the policy
		case err == errSlow:
			return i, nil
		default:
			return i, err // it fails the item: OnError decides
		}
	}
	p := define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "pages", ints(4)), "fetch", fetch, stages.OnError(stages.Skip(100)))
	})
	for i, err := range supervisor.Items(context.Background(), supervisor.New(supervisor.Config{}), p, nil) {
		if err != nil {
			fmt.Println(errors.Is(err, errCredential), errors.Is(err, stages.ErrFatal))
			break
		}
		fmt.Println(i)
	}
	// Output:
	// 0
	// 1
	// true true
}

// A function that ignores its context costs its item; the others go on.
func Example_timeout() {
	release := make(chan struct{})
	defer close(release)
	call := func(ctx context.Context, v int) (int, error) {
		if v == 1 {
			<-release // it does not look at ctx
		}
		return v, nil
	}
	p := define(func(g *stages.Graph) stages.Stream[int] {
		in := stages.Source(g, "ints", ints(3))
		return stages.Map(in, "call", call, stages.Timeout(100*time.Millisecond), stages.OnError(stages.Skip(1)))
	})
	sup := supervisor.New(supervisor.Config{Grace: 200 * time.Millisecond})
	run, err := supervisor.Deploy(context.Background(), sup, p, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for v, err := range run.Items(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v)
	}
	s := run.Stats()
	hung, ok := errors.AsType[*stages.HungError](s.Failures[0])
	fmt.Println(ok, hung.Stage, hung.Item, hung.Stack != "")
	fmt.Println(s.Stages[1].Hung, "has not returned")
	fmt.Println("Stop:", run.Stop())
	// Output:
	// 0
	// 2
	// true call ints/0/1 true
	// 1 has not returned
	// Stop: stage "call": worker 0 does not return
}

// A panic costs the worker. The item is tried again by the next one.
func Example_panic() {
	var tables = []string{"a", "b", "c"}
	p := define(func(g *stages.Graph) stages.Stream[string] {
		return stages.Map(stages.Source(g, "ints", ints(5)), "look up", func(_ context.Context, i int) (string, error) {
			return tables[i], nil
		}, stages.Retry{First: time.Millisecond}, stages.OnError(stages.Skip(2)))
	})
	run, err := supervisor.Deploy(context.Background(), supervisor.New(supervisor.Config{}), p, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	for s, err := range run.Items(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s)
	}
	for _, f := range run.Stats().Failures {
		if p, ok := errors.AsType[*stages.PanicError](f); ok { // with p.Stack
			fmt.Println(f.Item, "has failed", f.Attempts, "times:", p.Value)
		}
	}
	fmt.Println(run.Stats().Restarts, "restarts")
	// Output:
	// a
	// b
	// c
	// ints/0/3 has failed 3 times: runtime error: index out of range [3] with length 3
	// ints/0/4 has failed 3 times: runtime error: index out of range [4] with length 3
	// 6 restarts
}
