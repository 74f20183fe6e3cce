package supervisor

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// What a node tells beside the data: its counts, and what happens.

// statsEvery is how often a node that is at work tells its counts.
const statsEvery = 100 * time.Millisecond

// A nodeStage is the counts of one stage, for one session.
type nodeStage struct {
	Index                                                    int
	In, Out, Filtered, Retries, Restarts, Busy, Hung, Failed int64
}

// nodeCounts is the body of wire.Stats.
type nodeCounts struct {
	Stages   []nodeStage
	Finished []int64 // by the stages of which some items may fail
	Shared   sharedCounts
}

// A statsTeller knows when a node has told its counts.
type statsTeller struct {
	mu sync.Mutex
	at time.Time // guarded by mu
}

// due reports whether it is time, and takes note.
func (s *statsTeller) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.at) < statsEvery {
		return false
	}
	s.at = now
	return true
}

// sendStatsAtTimes is called when something is sent anyhow: an idle node has no timer.
func (t *tenancy) sendStatsAtTimes() {
	if t.stats.due() {
		t.tellStats()
	}
}

func (t *tenancy) tellStats() {
	all := nodeCounts{Shared: t.shared.counts(), Finished: t.finished()}
	s := t.actors.Stats()
	for _, i := range t.region.Stages {
		st := s.Stages[i]
		all.Stages = append(all.Stages, nodeStage{i, st.In, st.Out, st.Filtered, st.Retries, st.Restarts, int64(st.Busy), st.Hung, st.Failed})
	}
	if b, err := new(msgpack.Codec).Append(nil, all); err == nil {
		t.peer.Send(&wire.Stats{Body: b})
	}
}

// A nodeEvent is an actors.Event on its way. Which fields are set depends on Kind.
type nodeEvent struct {
	Kind    string
	Stage   string
	Worker  int
	Lives   int
	Item    stages.ID
	Attempt int
	Retry   time.Duration
	Error   []byte
}

// observe tells the coordinator of what happens.
func (t *tenancy) observe(e actors.Event) {
	var n nodeEvent
	var err error
	switch e := e.(type) {
	case actors.Restarted:
		n, err = nodeEvent{Kind: "restarted", Stage: e.Stage, Worker: e.Worker, Lives: e.Lives, Retry: e.Retry}, e.Err
	case actors.Retried:
		n, err = nodeEvent{Kind: "retried", Stage: e.Stage, Item: e.Item, Attempt: e.Attempt, Retry: e.Retry}, e.Err
	case actors.CloseFailed:
		n, err = nodeEvent{Kind: "close", Stage: e.Stage, Worker: e.Worker}, e.Err
	case actors.HookFailed:
		n, err = nodeEvent{Kind: "hook", Stage: e.Stage}, e.Err
	case actors.Hung:
		n, err = nodeEvent{Kind: "hung", Stage: e.Err.Stage}, e.Err
	default:
		return
	}
	n.Error = stages.EncodeError(t.graph, err)
	if b, err := new(msgpack.Codec).Append(nil, n); err == nil {
		t.peer.Send(&wire.Event{Body: b})
	}
}

// tellUnreturned tells the coordinator, when the region has been stopped, of functions that do not return.
func (t *tenancy) tellUnreturned() {
	for _, h := range t.actors.Hung() {
		n := nodeEvent{Kind: "unreturned", Stage: h.Stage, Worker: h.Worker, Item: h.Item, Error: stages.EncodeError(t.graph, h)}
		if b, err := new(msgpack.Codec).Append(nil, n); err == nil {
			t.peer.Send(&wire.Event{Body: b})
		}
	}
}

// hung is the error of a function that does not return.
func (n *nodeEvent) hung(err error) *stages.HungError {
	if h, ok := err.(*stages.HungError); ok {
		return h
	}
	return &stages.HungError{Stage: n.Stage, Worker: n.Worker, Item: n.Item}
}

// eventOf is what a node has told, or nil.
func (r *run) eventOf(body []byte) actors.Event {
	var n nodeEvent
	if new(msgpack.Codec).Decode(body, &n) != nil {
		return nil
	}
	err := stages.DecodeError(r.graph, n.Error)
	switch n.Kind {
	case "unreturned":
		r.nodes.unreturned(n.hung(err))
	case "restarted":
		return actors.Restarted{Stage: n.Stage, Worker: n.Worker, Lives: n.Lives, Err: err, Retry: n.Retry}
	case "retried":
		return actors.Retried{Stage: n.Stage, Item: n.Item, Attempt: n.Attempt, Err: err, Retry: n.Retry}
	case "close":
		return actors.CloseFailed{Stage: n.Stage, Worker: n.Worker, Err: err}
	case "hook":
		return actors.HookFailed{Stage: n.Stage, Err: err}
	case "hung":
		return actors.Hung{Err: n.hung(err)}
	}
	return nil
}

// buildID names the program, for people who compare two of them.
func buildID() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	id := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			id = s.Value
		}
	}
	return fmt.Sprintf("%s %s", info.GoVersion, id)
}
