package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirflow/weir/stages"
)

// LogEvents returns a Config.OnEvent that writes each event to l: constant messages, nouns as fields; failures at Warn,
// the end of a failed run at Error, the rest at Info or Debug.
func LogEvents(l zerolog.Logger) func(Event) {
	return func(e Event) {
		entry := entryOf(e)
		line := l.WithLevel(zerologLevel(entry.level))
		for _, a := range entry.attrs {
			switch v := a.Value.Any().(type) {
			case error:
				line = line.AnErr(a.Key, v)
			case time.Duration:
				line = line.Dur(a.Key, v)
			default:
				line = line.Any(a.Key, v)
			}
		}
		line.Msg(entry.message)
	}
}

func zerologLevel(l slog.Level) zerolog.Level {
	switch {
	case l >= slog.LevelError:
		return zerolog.ErrorLevel
	case l >= slog.LevelWarn:
		return zerolog.WarnLevel
	case l >= slog.LevelInfo:
		return zerolog.InfoLevel
	}
	return zerolog.DebugLevel
}

// LogEventsSlog is LogEvents for log/slog.
func LogEventsSlog(l *slog.Logger) func(Event) {
	return func(e Event) {
		entry := entryOf(e)
		l.LogAttrs(context.Background(), entry.level, entry.message, entry.attrs...)
	}
}

// An entry is an event as a log shows it.
type entry struct {
	level   slog.Level
	message string
	attrs   []slog.Attr
}

func entryOf(e Event) entry {
	i := e.Info()
	d := entry{level: slog.LevelInfo}
	if i.Run != "" || i.Pipeline != "" { // else it is of a node
		d.add(slog.String("pipeline", i.Pipeline), slog.String("run", string(i.Run)))
	}
	if i.Job != "" {
		d.add(slog.String("job", i.Job))
	}
	if i.Rank != "" {
		d.add(slog.String("rank", i.Rank))
	}
	switch e := e.(type) {
	case RunStarted:
		d.message = "run started"
		d.add(slog.String("placement", e.Placement))
	case RunEnded:
		s := e.Stats
		d.message = "run ended"
		if _, failed := errors.AsType[*RunError](e.Err); failed || errors.Is(e.Err, ErrDrainTimeout) {
			d.level, d.message = slog.LevelError, "run failed"
		}
		d.err(e.Err)
		d.add(slog.Int64("yielded", s.Yielded), slog.Int64("delivered", s.Delivered), slog.Int64("filtered", s.Filtered),
			slog.Int64("failed", s.Failed), slog.Int64("inflight", s.InFlight), slog.Duration("elapsed", s.Elapsed))
	case EpochEnded:
		d.level, d.message = slog.LevelDebug, "epoch ended"
		d.add(slog.Int("epoch", e.Epoch))
	case TaskFailed:
		d.level, d.message = slog.LevelWarn, "task failed"
		d.add(slog.String("task", e.Task))
		d.err(e.Err)
		if hung, ok := errors.AsType[*stages.HungError](e.Err); ok {
			d.level, d.message = slog.LevelError, "task does not return"
			d.add(slog.String("stack", hung.Stack))
		}
	case NodeRestarted:
		d.level, d.message = slog.LevelWarn, "node restarted"
		d.add(slog.String("node", nodeName(e.Region, e.Copy)), slog.Int("incarnation", e.Incarnation))
		d.pause(e.Retry)
		d.err(e.Err)
	case NodeOutput:
		d.message = "node output"
		d.add(slog.String("node", e.Node), slog.String("line", e.Line))
	case EventsLost:
		d.level, d.message = slog.LevelWarn, "events lost"
		d.add(slog.Int64("count", e.Count))
	case WorkerRestarted:
		d.level, d.message = slog.LevelWarn, "worker restarted"
		d.add(slog.String("stage", e.Stage), slog.Int("worker", e.Worker), slog.Int("incarnation", e.Lives))
		d.pause(e.Retry)
		d.err(e.Err)
	case CloseFailed:
		d.level, d.message = slog.LevelWarn, "close failed"
		d.add(slog.String("stage", e.Stage), slog.Int("worker", e.Worker))
		d.err(e.Err)
	case HookFailed:
		d.level, d.message = slog.LevelWarn, "hook failed"
		d.add(slog.String("stage", e.Stage))
		d.err(e.Err)
	case StageHung:
		d.level, d.message = slog.LevelError, "function does not return"
		d.add(slog.String("stage", e.Stage), slog.Int("worker", e.Err.Worker), slog.String("stack", e.Err.Stack))
	case ItemRetried:
		d.message = "item retried"
		d.add(slog.String("stage", e.Stage), slog.String("item", e.Item.String()), slog.Int("attempt", e.Attempt))
		d.pause(e.Retry)
		d.err(e.Err)
	case ItemFailed:
		d.level, d.message = slog.LevelWarn, "item failed"
		d.add(slog.String("stage", e.Err.Stage), slog.String("item", e.Err.Item.String()), slog.Int("attempts", e.Err.Attempts))
		if e.Letter {
			d.add(slog.Bool("letter", true))
		}
		d.err(e.Err.Err)
	case NodeStarted:
		d.level, d.message = slog.LevelDebug, "node started"
		d.add(slog.String("node", nodeName(e.Region, e.Copy)), slog.Int("incarnation", e.Incarnation))
		if e.Addr != "" {
			d.add(slog.String("addr", e.Addr))
		} else {
			d.add(slog.Int("pid", e.PID))
		}
	default:
		d.node(e)
	}
	return d
}

func (d *entry) add(attrs ...slog.Attr) { d.attrs = append(d.attrs, attrs...) }

// pause is how long something waits, if it does.
func (d *entry) pause(p time.Duration) {
	if p > 0 {
		d.add(slog.String("pause", p.String()))
	}
}

func (d *entry) err(err error) {
	if err != nil {
		d.add(slog.Any("err", err))
	}
}
