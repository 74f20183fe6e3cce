package supervisor_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

var prices = stages.Define("prices", func(g *stages.Graph, lines []string) stages.Stream[string] {
	cents := stages.Map(stages.Source(g, "lines", stages.FromSlice(lines)), "parse", parsePrice)
	return stages.Map(cents, "print", func(_ context.Context, cents int) (string, error) {
		return fmt.Sprintf("%d.%02d", cents/100, cents%100), nil
	})
})

func parsePrice(_ context.Context, line string) (int, error) {
	var whole, cents int
	_, err := fmt.Sscanf(line, "%d.%d", &whole, &cents)
	return 100*whole + cents, err
}

// What failed yesterday is run again, where it failed, now that the reason is gone. The source is left alone.
func ExampleReplay() {
	ctx, sup := context.Background(), supervisor.New(supervisor.Config{})
	for price, err := range supervisor.Items(ctx, sup, prices.With([]string{"1.50"}), nil, supervisor.Replay(leftBehind())) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(price)
	}
	// Output:
	// 3.99
	// 0.05
}

// leftBehind yields the letters of two lines. Those of a file are read by package deadletter.
func leftBehind() iter.Seq2[stages.Letter, error] {
	return func(yield func(stages.Letter, error) bool) {
		for i, line := range []string{"3.99", "0.05"} {
			payload, err := new(msgpack.Codec).Append(nil, line)
			if !yield(stages.Letter{
				Pipeline: "prices", Stage: "parse", Item: stages.ID{Source: "lines", Index: int64(i)},
				Codec: "msgpack", Payload: payload,
			}, err) {
				return
			}
		}
	}
}
