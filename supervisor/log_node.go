package supervisor

import "log/slog"

// node is entryOf for events of nodes.
func (d *entry) node(e Event) {
	switch e := e.(type) {
	case NodeSilent:
		d.level, d.message = slog.LevelWarn, "node is silent"
		d.add(slog.String("node", e.Node), slog.String("addr", e.Addr))
		d.err(e.Err)
	case NodeRestarted:
		d.level, d.message = slog.LevelWarn, "node restarted"
		d.add(slog.String("region", e.Region), slog.Int("copy", e.Copy), slog.Int("incarnation", e.Incarnation))
		d.pause(e.Retry)
		d.err(e.Err)
	case NodeOutput:
		d.message = "node output"
		d.add(slog.String("node", e.Node), slog.String("line", e.Line))
	case SessionStarted:
		d.message = "session started"
		d.session(e.Peer, e.Region, e.Copy)
	case SessionEnded:
		d.message = "session ended"
		d.session(e.Peer, e.Region, e.Copy)
		if e.Err != nil {
			d.level = slog.LevelWarn
			d.err(e.Err)
		}
	case SessionRefused:
		d.level, d.message = slog.LevelWarn, "session refused"
		d.add(slog.String("peer", e.Peer))
		if e.Untold > 0 {
			d.add(slog.Int64("untold", e.Untold))
		}
		d.err(e.Err)
	default:
		d.message = "event"
	}
}

func (d *entry) session(peer, region string, copy int) {
	d.add(slog.String("peer", peer))
	if region != "" {
		d.add(slog.String("region", region))
	}
	d.add(slog.Int("copy", copy))
}
