package supervisor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// A host runs regions for programs that deploy them: it is the other side of nodes. A child process is one, and so is a node
// that serves.
type host struct {
	defs []stages.Blueprint
	boot [16]byte // names this process
	log  zerolog.Logger

	headroom headroom // taken by the first session

	mu     sync.Mutex
	files  []*os.File     // guarded by mu; of the memory that a child shares with its parent, for its session
	system *actors.System // guarded by mu; made for the first region
}

// A peer is a session as a host sees it: link.Session.
type peer interface {
	Send(m wire.Message) error
	Recv() (wire.Message, error)
	Accept(*wire.Ready) error
	Refuse(*wire.Refuse) error
	CloseSend()
	Done() <-chan struct{}
}

func newHost(defs []stages.Blueprint) *host {
	h := &host{defs: defs, log: zerolog.Nop()}
	rand.Read(h.boot[:]) // never fails
	return h
}

func (h *host) actors() *actors.System {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.system == nil {
		h.system = actors.NewSystem(slog.New(zerolog.NewSlogHandler(h.log)))
	}
	return h.system
}

// serve is a session from its OPEN to its end. It blocks, and returns when all that it has started has ended, or has not for
// longer than the grace.
func (h *host) serve(ctx context.Context, p peer, open *wire.Open) {
	g, r, refusal := h.find(open)
	if refusal != nil {
		p.Refuse(refusal)
		return
	}
	h.tenant(ctx, p, open, g, r)
}

// tenant is a session that is not refused for what it asks for. It returns why it has ended, if it was not as it should.
func (h *host) tenant(ctx context.Context, p peer, open *wire.Open, g *plan.Graph, r *plan.Region) error {
	h.headroom.take()
	files := h.takeFiles()
	rest, box, err := openBox(files, open.Box)
	if err != nil {
		p.Refuse(&wire.Refuse{Code: wire.Full, Text: err.Error()})
		return err
	}
	mem, err := openShared(g.Codec, rest, open.Arena)
	for _, f := range files {
		_ = f.Close() // they are mapped
	}
	if err != nil {
		p.Refuse(&wire.Refuse{Code: wire.Full, Text: err.Error()})
		return err
	}
	defer mem.close()
	t := newTenancy(h, p, open, g, r, mem)
	t.box = box
	return t.run(ctx)
}

// takeFiles returns the files that the process was started with, once.
func (h *host) takeFiles() []*os.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	files := h.files
	h.files = nil
	return files
}

// find builds the graph that open asks for, or says why not.
func (h *host) find(open *wire.Open) (*plan.Graph, *plan.Region, *wire.Refuse) {
	if !slices.Contains(open.Versions, wire.Version) {
		return nil, nil, &wire.Refuse{Code: wire.OtherVersion, Text: fmt.Sprintf("this node speaks version %d of the link, and not one of %v", wire.Version, open.Versions)}
	}
	i := slices.IndexFunc(h.defs, func(d stages.Blueprint) bool { return d.Name() == open.Pipeline })
	if i < 0 {
		var names []string
		for _, d := range h.defs {
			names = append(names, d.Name())
		}
		return nil, nil, &wire.Refuse{Code: wire.UnknownPipeline, Text: fmt.Sprintf("this node has no pipeline %q; it has %q", open.Pipeline, names)}
	}
	g, err := stages.Rebuild(h.defs[i], open.Config)
	if err != nil {
		return nil, nil, &wire.Refuse{Code: wire.BadConfig, Text: err.Error()}
	}
	if plan.Fingerprint(g) != open.Fingerprint {
		return nil, nil, &wire.Refuse{Code: wire.OtherGraph, Text: printText(g)}
	}
	r, err := regionOf(g, open.From, open.To)
	if err != nil {
		return nil, nil, &wire.Refuse{Code: wire.BadRequest, Text: err.Error()}
	}
	if r.Keyed != (open.Mode == wire.Keyed) {
		return nil, nil, &wire.Refuse{Code: wire.BadRequest, Text: "the region is of another mode here"}
	}
	return g, r, nil
}

// printText is what the fingerprint of a graph is made of: as much as fits into a message.
func printText(g *plan.Graph) string {
	t := plan.FingerprintText(g)
	return strings.ToValidUTF8(t[:min(len(t), wire.MaxText)], "")
}

// regionOf returns the region between two stages by name; the whole graph if they have none.
func regionOf(g *plan.Graph, from, to string) (*plan.Region, error) {
	if from == "" && to == "" {
		return g.Whole(), nil
	}
	i, k := g.Named(from), g.Named(to)
	if i < 0 || k < 0 {
		return nil, fmt.Errorf("no stage is called %q or %q", from, to)
	}
	return g.Region(i, k)
}

// A tenancy is one session with a region of one run.
type tenancy struct {
	host   *host
	peer   peer
	open   *wire.Open
	graph  *plan.Graph
	region *plan.Region
	inside *plan.Graph
	actors *actors.Run
	gather *gather // of a keyed region
	frames *frames // of any other
	shared *shared
	box    *plan.BlackBox             // nil: what is executed is noted nowhere
	some   []int                      // stages of which some items may fail
	counts atomic.Pointer[actors.Run] // the actors, as soon as they can be asked
	ended  chan struct{}              // closed when every goroutine of the actors has ended
	stats  statsTeller
}

func newTenancy(h *host, p peer, open *wire.Open, g *plan.Graph, r *plan.Region, mem *shared) *tenancy {
	t := &tenancy{host: h, peer: p, open: open, graph: g, region: r, shared: mem, inside: g.Inside(r), ended: make(chan struct{})}
	t.some = actors.Tolerant(func(i int) *plan.Stage { return g.Stages[i] }, r)
	if r.Keyed {
		t.gather = newGather(t)
		t.inside.Rename, t.inside.Tried = t.gather.rename, t.gather.tried
	} else {
		t.frames = newFrames(t)
		if r.In.Stage != plan.None {
			t.frames.fed = map[uint64]*fedItem{}
			t.inside.Rename = t.frames.rename
		}
		t.inside.Tried = triedBefore(open.Suspects)
	}
	return t
}

// run runs the region until the coordinator ends it, or is gone. It returns why, if that was not as it should.
func (t *tenancy) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := t.peer.Accept(&wire.Ready{Version: wire.Version, Build: buildID(), Fingerprint: t.open.Fingerprint, Boot: t.host.boot})
	if err != nil {
		close(t.ended)
		return err
	}
	t.shared.returns(func(m wire.Message) { t.peer.Send(m) })
	cfg := actors.Config{ID: t.open.Run, OnEvent: t.observe, OnEnd: func() { close(t.ended) }, Grace: t.open.Grace, Poison: 1}
	if t.frames != nil {
		t.frames.config(&cfg)
		t.watched(&cfg)
	} else {
		cfg.Letters, cfg.OnEnds, cfg.OnFailed = lettersOf(t, keeper{t.gather}), t.gather.over, t.gather.failed
	}
	t.actors = t.host.actors().Start(ctx, t.inside, cfg)
	t.counts.Store(t.actors)
	sent := make(chan struct{})
	// Owner: the tenancy. Ends when the region's last item has been sent, or its actors are stopped. run waits for it.
	go func() {
		defer close(sent)
		if panicked := guard(func() error { t.send(ctx); return nil }); panicked != nil {
			cancel()
		}
	}()
	heard := make(chan error, 1)
	// Owner: the tenancy. Ends with the session: at the latest when run has returned, which ends it. Nobody waits.
	go func() { heard <- guard(func() error { return t.receive(ctx) }) }()
	select {
	case err = <-heard:
	case <-ctx.Done():
		select {
		case <-t.peer.Done(): // it is lost
			err = <-heard
		default: // the node is to stop
		}
	}
	cancel()
	t.stop()
	<-sent
	t.tellUnreturned()
	t.tellStats()
	return err
}

// finished is what the stages of which some items may fail have finished; nil if that is not known yet.
func (t *tenancy) finished() []int64 {
	if a := t.counts.Load(); a != nil {
		return a.Finished(t.some)
	}
	return nil
}

// stop ends the actors, and waits for them, for most of the grace: the coordinator is to hear which of them do not end.
func (t *tenancy) stop() {
	t.actors.Stop()
	grace := time.NewTimer(t.open.Grace - min(t.open.Grace*2/5, time.Second))
	defer grace.Stop()
	select {
	case <-t.ended:
	case <-grace.C:
	}
}

// receive handles what the coordinator says, until it says no more. It returns an error if the coordinator is gone, or breaks a
// rule.
func (t *tenancy) receive(ctx context.Context) error {
	for ended := false; ; {
		m, err := t.peer.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := t.misplaced(m, ended); err != nil {
			return err
		}
		switch m := m.(type) {
		case *wire.Task:
			if t.gather != nil {
				t.gather.take(m)
			} else {
				t.frames.inputs(m)
			}
		case *wire.Release:
			if err := t.shared.free(m.Blocks); err != nil {
				return err // it is no coordinator that says so
			}
		case *wire.End:
			ended = true
			t.actors.EndInput()
		case *wire.Cancel:
			return nil
		case *wire.Limit, *wire.Drain, *wire.Skip:
			if t.frames != nil {
				t.frames.hear(m)
			}
		}
	}
}

// send sends what comes out of the region, and at last how it has ended.
func (t *tenancy) send(ctx context.Context) {
	for t.frames == nil {
		c, err := t.actors.Outlet().Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return
		}
		t.gather.add(c)
	}
	if t.frames != nil && t.frames.send(ctx) != nil {
		return
	}
	var late <-chan time.Time
	if len(t.untold()) > 0 { // functions may hang of which nobody will know that they do
		grace := time.NewTimer(t.open.Grace)
		defer grace.Stop()
		late = grace.C
	}
	select {
	case <-t.ended: // so that everything has been told
	case <-late:
	case <-ctx.Done():
		return
	}
	if t.frames != nil {
		t.frames.close()
	}
	t.tellStats()
	if causes := t.untold(); len(causes) > 0 {
		t.peer.Send(&wire.Abort{Error: stages.EncodeError(t.graph, errors.Join(causes...))})
		return
	}
	t.peer.Send(&wire.End{})
	t.peer.CloseSend()
}

// untold returns why the region's run has failed, but for items of which the failure was sent.
func (t *tenancy) untold() (causes []error) {
	for _, err := range t.actors.Causes() {
		if _, item := err.(*stages.ItemError); !item || t.frames == nil {
			causes = append(causes, err)
		}
	}
	return causes
}
