package actors

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// A System is an actor system. It takes 2.9 MB, so there is one for all runs of a supervisor. It has no goroutine while
// nothing runs, and need not be closed.
type System struct {
	sys *actor.ActorSystem
	seq atomic.Uint64 // of runs
}

// NewSystem makes a system. What protoactor has to say goes to logger; nil is nobody.
func NewSystem(logger *slog.Logger) *System {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	logger = slog.New(warnings{logger.Handler()})
	return &System{sys: actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return logger }),
		// It would print whole payloads.
		actor.WithDeadLetterRequestLogging(false))}
}

// warnings drop what protoactor says below Warn: each panic of a worker, among others, which is an event of ours.
type warnings struct{ slog.Handler }

func (q warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

func (q warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{q.Handler.WithAttrs(a)} }

func (q warnings) WithGroup(name string) slog.Handler { return warnings{q.Handler.WithGroup(name)} }
