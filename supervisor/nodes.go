package supervisor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// nodes are where the regions of a run live: actors.Nodes.
type nodes struct {
	run    *run
	config []byte
	print  [32]byte
	at     map[*plan.Region]Placement // of one copy
	reach  map[*plan.Region]*reach    // of remote ones
	placed []placed                   // immutable after placeRegions
	held   []int                      // of each of placed: items that are with its copies at most; 0: its own bounds say it

	mu     sync.Mutex
	open   int                     // guarded by mu: sessions that have not ended
	closed bool                    // guarded by mu: no more are begun
	stats  map[copyKey]*copyStats  // guarded by mu
	begun  map[copyKey]*begun      // guarded by mu: sessions that wait for the next life of a copy
	hung   []*stages.HungError     // guarded by mu: functions that did not return when the run was stopped
	copies map[copyKey]*copyRecord // guarded by mu
	mute   map[*plan.Region]*muted // guarded by mu
	kept   []*session              // guarded by mu: sessions that are over, of which something has not been unpacked
}

// A copyStats is what the lives of a copy have told of their stages.
type copyStats struct {
	life   int
	now    []nodeStage       // by that life, at last
	before map[int]nodeStage // by all lives before it, together
}

// add is s with the counts of o.
func (s nodeStage) add(o nodeStage) nodeStage {
	s.In, s.Out, s.Filtered, s.Failed = s.In+o.In, s.Out+o.Out, s.Filtered+o.Filtered, s.Failed+o.Failed
	s.Retries, s.Restarts, s.Busy, s.Hung = s.Retries+o.Retries, s.Restarts+o.Restarts, s.Busy+o.Busy, s.Hung+o.Hung
	return s
}

func newNodes(r *run, config []byte, print [32]byte) *nodes {
	return &nodes{run: r, config: config, print: print, at: map[*plan.Region]Placement{}, stats: map[copyKey]*copyStats{},
		reach: map[*plan.Region]*reach{}, begun: map[copyKey]*begun{}, copies: map[copyKey]*copyRecord{}, mute: map[*plan.Region]*muted{},
	}
}

// Start implements actors.Nodes.
func (n *nodes) Start(r *plan.Region, copy int, open wire.Open, told func(any)) actors.Session {
	s := &session{nodes: n, region: r, copy: copy, life: open.Incarnation, first: open, told: told}
	s.shared, s.box = n.share(r), n.box(r)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	n.mu.Lock()
	n.open++
	n.begin(s)
	n.mu.Unlock()
	// Owner: the run. Ends with the session, which Stop ends. The run waits for it, as its part "nodes".
	go func() {
		defer n.left()
		s.live()
	}()
	return s
}

// left is called when a session has ended, with all that belongs to it.
func (n *nodes) left() {
	n.mu.Lock()
	n.open--
	last := n.closed && n.open == 0
	n.mu.Unlock()
	if last {
		n.forget()
		n.run.leave(partNodes)
	}
}

// partNodes is the run's part in other processes: see run.alive.
const partNodes = "\x00nodes"

// close is called when no session is begun any more.
func (n *nodes) close() {
	n.mu.Lock()
	n.closed = true
	last := n.open == 0
	n.mu.Unlock()
	n.closeBegun()
	if last {
		n.forget()
		n.run.leave(partNodes)
	}
}

// share makes the memory that a session shares with its child.
func (n *nodes) share(r *plan.Region) *shared {
	g := n.run.graph
	if at, child := n.at[r].(Subprocess); child {
		if bytes := uint64(cmp.Or(at.ArenaBytes, defaultArena)); bulky(g, r, bytes) {
			return makeShared(g.Codec, bytes)
		}
	}
	return newShared(g.Codec, nil, nil)
}

// keep remembers a session that is over while there is something to be unpacked.
func (n *nodes) keep(s *session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kept = append(slices.DeleteFunc(n.kept, (*session).unpackedAll), s)
}

// forget lets go of what will not be unpacked any more. What views show stays.
func (n *nodes) forget() {
	n.mu.Lock()
	kept := n.kept
	n.kept = nil
	n.mu.Unlock()
	for _, s := range kept {
		s.shared.in.Close()
	}
}

// note keeps what a session has counted, and returns what is for the stage.
func (n *nodes) note(s *session, body []byte) (finished []int64) {
	var all nodeCounts
	if new(msgpack.Codec).Decode(body, &all) != nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.stats[copyKey{s.region, s.copy}]
	if c == nil {
		c = &copyStats{before: map[int]nodeStage{}}
		n.stats[copyKey{s.region, s.copy}] = c
	}
	if s.life > c.life {
		for _, st := range c.now {
			st.Hung = 0 // what did not return has ended with its process
			c.before[st.Index] = c.before[st.Index].add(st)
		}
		c.life, c.now = s.life, nil
	}
	if s.life == c.life {
		c.now = all.Stages
	}
	if r := n.copies[copyKey{s.region, s.copy}]; r.now == s.shared {
		r.told = all.Shared
	}
	return all.Finished
}

// unreturned notes a function in a node that does not return though the run has been stopped.
func (n *nodes) unreturned(h *stages.HungError) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hung = append(n.hung, h)
}

// hanging returns the functions in nodes that did not return.
func (n *nodes) hanging() []*stages.HungError {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.hung)
}

// fill adds what the stages of regions have done, which only their nodes know.
func (n *nodes) fill(all []actors.StageStats) {
	for i, c := range n.counts() {
		if i < 0 || i >= len(all) {
			continue
		}
		st := &all[i]
		st.In, st.Out, st.Filtered = st.In+c.In, st.Out+c.Out, st.Filtered+c.Filtered
		st.Retries, st.Restarts, st.Hung = st.Retries+c.Retries, st.Restarts+c.Restarts, st.Hung+c.Hung
		st.Busy += time.Duration(c.Busy)
	}
}

// counts returns the counts of stages, by index, over all lives of all copies.
func (n *nodes) counts() map[int]nodeStage {
	n.mu.Lock()
	defer n.mu.Unlock()
	sum := map[int]nodeStage{}
	for _, c := range n.stats {
		for i, st := range c.before {
			sum[i] = sum[i].add(st)
		}
		for _, st := range c.now {
			sum[st.Index] = sum[st.Index].add(st)
		}
	}
	return sum
}

// mode is how a region is spoken to.
func mode(r *plan.Region) wire.Mode {
	if r.Keyed {
		return wire.Keyed
	}
	return wire.Stream
}

// opening is the first message of a session.
func (n *nodes) opening(s *session) *wire.Open {
	g := n.run.graph
	o := s.first
	o.Versions, o.Run, o.Pipeline, o.Copy = []uint32{wire.Version}, string(n.run.id), g.Name, s.copy
	o.Build, o.Fingerprint, o.Config, o.Mode, o.Grace = buildID(), n.print, n.config, mode(s.region), n.run.cfg.Grace
	o.Arena, o.Box = s.shared.size(), s.boxSize()
	if s.region.In.Stage != plan.None || len(s.region.Stages) < len(g.Stages) {
		o.From, o.To = g.Stages[s.region.From].Name, g.Stages[s.region.To].Name
	}
	return &o
}

// name is what a copy of a region is called, for people.
func (n *nodes) name(r *plan.Region, copy int) string {
	return nodeName(n.run.graph.RegionName(r), copy)
}

func nodeName(region string, copy int) string { return fmt.Sprintf("%s/%d", region, copy) }
