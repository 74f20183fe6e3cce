package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// What docs/failure-handling.md shows of single letters. Here they lie in memory; those of a file come from deadletter.Read.

// A Sale is the input of a stage.
type Sale struct {
	Shop  string
	Cents int
}

// A SaleV1 is what it was last week.
type SaleV1 struct {
	Cents int
	Shop  string
}

var sales = stages.Define("sales", func(g *stages.Graph, in []Sale) stages.Stream[string] {
	return stages.Map(stages.Source(g, "sales", stages.FromSlice(in)), "book", func(_ context.Context, s Sale) (string, error) {
		return fmt.Sprint(s.Shop, " ", s.Cents), nil
	}, stages.Mailbox(2))
})

// keptSales are letters of a type, as if their items had failed.
func keptSales[T any](sales ...T) iter.Seq2[stages.Letter, error] {
	return func(yield func(stages.Letter, error) bool) {
		for i, v := range sales {
			payload, err := new(msgpack.Codec).Append(nil, v)
			if !yield(stages.Letter{
				Pipeline: "sales", Stage: "book", Item: stages.ID{Source: "sales", Index: int64(i)},
				Codec: "msgpack", Shape: codecs.Of[T]().Shape(), Payload: payload,
			}, err) {
				return
			}
		}
	}
}

func Example_lookIntoLetters() {
	for letter, err := range keptSales(Sale{"Cork", 399}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		v, err := codecs.Of[Sale]().Decode(new(msgpack.Codec), letter.Payload) // the type of the stage's input
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(letter.Shape, v.(Sale).Shop)
	}
	// Output: {Shop string; Cents int} Cork
}

// renewed are letters that hold a SaleV1, as letters that hold a Sale.
func renewed(letters iter.Seq2[stages.Letter, error]) iter.Seq2[stages.Letter, error] {
	var codec msgpack.Codec
	return func(yield func(stages.Letter, error) bool) {
		for l, err := range letters {
			var old SaleV1
			if err == nil {
				err = codec.Decode(l.Payload, &old)
			}
			if err == nil {
				l.Payload, err = codec.Append(nil, Sale{old.Shop, old.Cents})
				l.Shape = "" // not compared
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// A type has changed since its letters were written.
func Example_lettersOfAnotherShape() {
	ctx, sup := context.Background(), supervisor.New(supervisor.Config{})
	old := keptSales(SaleV1{399, "Cork"})
	for _, err := range supervisor.Items(ctx, sup, sales.With(nil), nil, supervisor.Replay(old)) {
		fmt.Println(err)
	}
	for s, err := range supervisor.Items(ctx, sup, sales.With(nil), nil, supervisor.Replay(renewed(old))) {
		fmt.Println(s, err)
	}
	// Output:
	// stages: replay: letter 1, of item sales/0/0, which failed in stage "book": the stage's input has changed since: field 1 was "Cents int", and is "Shop string"
	// Cork 399 <nil>
}

// distinct leaves out letters of an item that the stage has a letter of already.
func distinct(letters iter.Seq2[stages.Letter, error]) iter.Seq2[stages.Letter, error] {
	type key struct {
		stage string
		item  stages.ID
	}
	return func(yield func(stages.Letter, error) bool) {
		seen := map[key]bool{}
		for l, err := range letters {
			k := key{l.Stage, l.Item}
			if err == nil && seen[k] {
				continue
			}
			if seen[k] = true; !yield(l, err) {
				return
			}
		}
	}
}

// The program has died, was started again, and has met the same failures in the same file.
func Example_lettersTwice() {
	kept := func(yield func(stages.Letter, error) bool) {
		for range 2 {
			for l, err := range keptSales(Sale{"Cork", 399}, Sale{"Delft", 5}) {
				if !yield(l, err) {
					return
				}
			}
		}
	}
	ctx, sup := context.Background(), supervisor.New(supervisor.Config{})
	for s, err := range supervisor.Items(ctx, sup, sales.With(nil), nil, supervisor.Replay(distinct(kept))) {
		fmt.Println(s, err)
	}
	// Unordered output:
	// Cork 399 <nil>
	// Delft 5 <nil>
}

// Whatever fails is counted and named, and nothing ends the run but what no budget is for.
func Example_anyNumber() {
	p := define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(500)), "f", func(context.Context, int) (int, error) {
			return 0, errors.New("no")
		}, stages.OnError(stages.Skip(stages.Fraction(1)))) // any number
	})
	run, err := supervisor.Deploy(context.Background(), supervisor.New(supervisor.Config{}), p, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Stop()
	for _, err := range run.Items(context.Background()) {
		fmt.Println(err)
	}
	fmt.Println(run.Stats().Failed, "failed")
	// Output: 500 failed
}
