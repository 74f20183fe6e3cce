package shapes

import (
	"context"
	"strconv"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Serve answers requests with their squares, in the order of the requests, until the channel is closed. A request that is
// no number is told to refused, which several goroutines may call at once, and has no answer.
//
// The definition stands in the function, because a channel cannot travel: this pipeline stays where its channel is.
func Serve(ctx context.Context, sup *supervisor.Supervisor, requests <-chan string, refused func(request string, err error), answer func(int)) error {
	service := stages.Define("service", func(g *stages.Graph, requests <-chan string) stages.Stream[int] {
		g.Hook(stages.Hook{ItemExit: func(_ context.Context, it stages.Item, err error) error {
			if request, ok := stages.Value[string](it); ok && err != nil {
				refused(request, err)
			}
			return err // nil would drop the request as if it had been filtered
		}})
		in := stages.Source(g, "requests", stages.FromChan(requests))
		return stages.Map(in, "square", square, stages.Mailbox(8), stages.Ordered, stages.OnError(stages.Skip(1000)))
	})
	for n, err := range supervisor.Items(ctx, sup, service.With(requests), supervisor.InProcess{}) {
		if err != nil {
			return err
		}
		answer(n)
	}
	return nil
}

func square(_ context.Context, request string) (int, error) {
	n, err := strconv.Atoi(request)
	return n * n, err
}
