package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"iter"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// Deploy starts p at a placement; nil means InProcess{}. It returns when all stages are there, whether or not they have done
// anything yet, or with an error and nothing left behind. It does not wait for user code, but for dead-letter sinks to be
// opened, and for the letters of a Replay.
//
// ctx is the run's: when it ends, the run stops, as by Stop. Its values are seen by user code.
//
// Errors, all joined: those of the definition (*stages.DefinitionError), of the configuration, of the placement
// (*PlacementError, also of a node's name that has no address: it is looked up here, for 5 s at most), and the cause of ctx's end if it has ended; then those of the options; then, also joined, those of dead
// letters: a stage whose input cannot be encoded (a *stages.DefinitionError that wraps codecs.ErrNotEncodable), a sink that
// cannot be opened.
func Deploy[Out any](ctx context.Context, s *Supervisor, p stages.Pipeline[Out], at Placement, opts ...DeployOption) (*Run[Out], error) {
	if s == nil {
		return nil, errNoSupervisor
	}
	cfg := s.cfg.withDefaults()
	if at == nil {
		at = InProcess{}
	}
	err := errors.Join(p.Err(), cfg.validate(), s.core.fault, context.Cause(ctx))
	if err == nil {
		p, err = withOptions(ctx, p, opts)
	}
	if err != nil {
		return nil, errors.Join(err, validatePlacement(at))
	}
	regions, config, err := placeElsewhere(s.core, p, at)
	if err == nil {
		err = s.core.findNodes(ctx, p.Plan(), regions)
	}
	if err != nil {
		return nil, err
	}
	letters, err := openLetters(ctx, p.Plan())
	if err != nil {
		return nil, err
	}
	r := newRun(s, cfg, p.Plan(), at)
	r.event(RunStarted{EventInfo: r.info(), Placement: at.String()})
	system := s.core.actors(cfg.Logger)
	here := actors.Config{
		ID: string(r.id), OnEvent: r.observe, OnEnd: r.released,
		Failures:  actors.Budget{Count: int64(cfg.MaxFailed), Fraction: float64(cfg.MaxFailedFraction)},
		Probation: int64(cfg.Probation), Grace: cfg.Grace, Letters: letters, Poison: cfg.MaxDeaths,
	}
	graph := r.graph
	if len(regions) > 0 {
		s.core.headroom.take()
		graph, here.Nodes = r.placeRegions(regions, config)
	}
	r.begin(ctx, func() *actors.Run { return system.Start(ctx, graph, here) })
	return newTyped[Out](r), nil
}

// Check returns what Deploy would refuse p at a placement for, before it starts anything; nil if it would not. A program that is
// told by a flag where to run asks early, and a test asks what a graph can do. Whether a child starts, a node answers and a
// dead-letter sink opens is not looked at.
func Check[Out any](s *Supervisor, p stages.Pipeline[Out], at Placement) error {
	if s == nil {
		return errNoSupervisor
	}
	if at == nil {
		at = InProcess{}
	}
	if err := errors.Join(p.Err(), s.cfg.withDefaults().validate(), s.core.fault); err != nil {
		return errors.Join(err, validatePlacement(at))
	}
	_, _, err := placeElsewhere(s.core, p, at)
	return err
}

// Items is Deploy, Run.Items and Run.Stop in one, for programs that need no hold on the run: it deploys p when the
// loop begins. When the loop ends, however it ends, everything is stopped and released, and Config.OnEvent has been told all;
// this is waited for, at most twice Config.Grace. An error of either is the last turn. A function that does not return is
// an event, StageHung.
func Items[Out any](ctx context.Context, s *Supervisor, p stages.Pipeline[Out], at Placement, opts ...DeployOption) iter.Seq2[Out, error] {
	return func(yield func(Out, error) bool) {
		run, err := Deploy(ctx, s, p, at, opts...)
		if err != nil {
			var zero Out
			yield(zero, err)
			return
		}
		defer func() {
			run.Stop()
			told, cancel := context.WithTimeout(context.Background(), run.cfg.Grace)
			defer cancel()
			run.Wait(told)
		}()
		run.Items(ctx)(yield)
	}
}

func newRun(s *Supervisor, cfg Config, graph *plan.Graph, at Placement) *run {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return &run{
		id: RunID(hex.EncodeToString(id[:])), pipeline: graph.Name, graph: graph, at: at, started: time.Now(),
		cfg: cfg, core: s.core, herald: s.herald, journal: newJournal(), alive: map[string]bool{"": true},
		gone: make(chan struct{}), ended: make(chan struct{}), told: make(chan struct{}),
	}
}
