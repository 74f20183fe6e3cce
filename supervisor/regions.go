package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
	"github.com/weirflow/weir/stages"
)

// A placed is a region of a graph, and where its copies are.
type placed struct {
	region *plan.Region
	at     Placement // of each copy: Subprocess or Remote
	copies int
	pooled bool   // as many copies were asked for
	reach  *reach // of remote ones; set at last
}

// placeGraph finds the regions that a placement names, and refuses what cannot be: all faults, joined. There are none if
// everything stays here.
func placeGraph(g *plan.Graph, at Placement) (all []placed, err error) {
	if err := errors.Join(validatePlacement(at), validateStages(at, stageNames(g))); err != nil {
		return nil, err
	}
	refuse := func(reason string) { err = errors.Join(err, &PlacementError{Placement: at.String(), Reason: reason}) }
	add := func(r *plan.Region, on Placement) {
		p := placed{region: r, at: on, copies: 1}
		if pool, ok := on.(Pool); ok {
			p.at, p.copies, p.pooled = pool.Of, pool.Size, true
		}
		if _, here := p.at.(InProcess); here {
			return
		}
		if reason := p.refused(g); reason != "" {
			refuse(reason)
		}
		err = errors.Join(err, p.encodable(g))
		all = append(all, p)
	}
	switch at := at.(type) {
	case InProcess:
	case Regions:
		for _, r := range at {
			to := r.To
			if to == "" {
				to = r.From
			}
			region, cannot := g.Region(g.Named(r.From), g.Named(to))
			if cannot != nil {
				refuse(fmt.Sprintf("region %q: %v", r.name(), cannot))
				continue
			}
			add(region, r.On)
		}
		for i, p := range all {
			for _, q := range all[:i] {
				if both := overlap(p.region, q.region); both >= 0 {
					refuse(fmt.Sprintf("stage %q is in two regions", g.Stages[both].Name))
				}
			}
		}
	default:
		add(g.Whole(), at)
	}
	return all, err
}

func stageNames(g *plan.Graph) (names []string) {
	for _, s := range g.Stages {
		names = append(names, s.Name)
	}
	return names
}

// refused says why the region cannot be where it is to be; "" if it can.
func (p *placed) refused(g *plan.Graph) string {
	name := g.RegionName(p.region)
	if p.region.Cannot != "" {
		return fmt.Sprintf("region %q: %s", name, p.region.Cannot)
	}
	if p.copies > 1 && !p.region.Keyed {
		return fmt.Sprintf("region %q cannot be in %d copies: %s", name, p.copies, p.region.Why)
	}
	for _, i := range p.region.Stages {
		if s := g.Stages[i]; p.copies > 1 && s.Streaming && p.region.Ordered {
			return fmt.Sprintf("region %q cannot be in %d copies: stage %q is Streaming and Ordered, so one copy could wait for what another has", name, p.copies, s.Name)
		}
		if s := g.Stages[i]; s.Local {
			return fmt.Sprintf("stage %q cannot be elsewhere: its source is one of this process", s.Name)
		}
	}
	return ""
}

// encodable refuses values that cannot cross, at the way in and the way out.
func (p *placed) encodable(g *plan.Graph) (err error) {
	check := func(s *plan.Stage, way string) {
		if cannot := g.Codec.Check(s.Item); cannot != nil {
			err = errors.Join(err, fmt.Errorf("%v: %w", &stages.DefinitionError{
				Pipeline: g.Name, Stage: s.Name, File: s.File, Line: s.Line, Reason: fmt.Sprintf("its items %s region %q, so they must be encodable", way, g.RegionName(p.region)),
			}, cannot))
		}
	}
	if in := p.region.In.Stage; in != plan.None {
		check(g.Stages[in], "enter")
	}
	check(g.Stages[p.region.To], "leave")
	return err
}

// overlap returns a stage that is in both regions, or -1.
func overlap(a, b *plan.Region) int {
	for _, i := range a.Stages {
		for _, k := range b.Stages {
			if i == k {
				return i
			}
		}
	}
	return -1
}

// placeElsewhere finds what of p is to be in other processes, and its configuration, which those need.
func placeElsewhere[Out any](c *core, p stages.Pipeline[Out], at Placement) (all []placed, config []byte, err error) {
	g := p.Plan()
	if all, err = placeGraph(g, at); len(all) == 0 && err == nil {
		return nil, nil, nil
	}
	if err = errors.Join(err, c.checkMain(all, g.Name)); err != nil {
		return nil, nil, err
	}
	if config, err = p.EncodeConfig(); err != nil {
		return nil, nil, err
	}
	return all, config, checkConfig(all, len(config))
}

// mostRemoteConfig is less than what a node reads of a session that it has not accepted: with the configuration go names.
const mostRemoteConfig = link.OpenBytes - 64<<10

// checkConfig refuses a configuration of size bytes that is too large to go along: every process would refuse it.
func checkConfig(all []placed, size int) (err error) {
	for _, p := range all {
		most := wire.MaxConfig
		if _, remote := p.at.(Remote); remote {
			most = mostRemoteConfig
		}
		if size > most {
			err = errors.Join(err, &PlacementError{
				Placement: p.at.String(), Reason: fmt.Sprintf("the configuration takes %d bytes, more than %d: let it name a file that the stages read", size, most),
			})
		}
	}
	return err
}

// findNodes finds the nodes of remote regions.
func (c *core) findNodes(ctx context.Context, g *plan.Graph, all []placed) (err error) {
	for i := range all {
		err = errors.Join(err, all[i].find(ctx, c, g))
	}
	return err
}

// find finds the nodes of a remote region. A name that stands for several addresses makes a pool of them, where the region may
// be one.
func (p *placed) find(ctx context.Context, c *core, g *plan.Graph) (err error) {
	at, remote := p.at.(Remote)
	if !remote {
		return nil
	}
	if p.reach, err = c.newReach(ctx, at); err != nil {
		return err
	}
	pool := *p
	if pool.copies = p.reach.addrs.size(); !p.pooled && pool.refused(g) == "" {
		p.copies = pool.copies
	}
	return nil
}

// placeRegions returns the graph of what stays here, and the nodes of what does not.
func (r *run) placeRegions(all []placed, config []byte) (*plan.Graph, *nodes) {
	n := newNodes(r, config, plan.Fingerprint(r.graph))
	var regions []*plan.Region
	var copies []int
	for _, p := range all {
		regions, copies = append(regions, p.region), append(copies, p.copies)
		n.at[p.region], n.reach[p.region] = p.at, p.reach
	}
	g := r.graph.Outside(regions, copies)
	n.placed = all
	for _, p := range regions {
		s := g.Stages[p.To]
		s.Restart = r.cfg.nodeRestart()
		held := 0
		if len(s.In) > 0 {
			held = g.InputWindow(s, 0).Most()
		}
		n.held = append(n.held, held)
	}
	r.nodes = n
	r.alive[partNodes] = true
	return g, n
}

// checkMain refuses child processes of a program that would not be one.
func (c *core) checkMain(all []placed, pipeline string) error {
	for _, p := range all {
		if _, child := p.at.(Subprocess); !child {
			continue
		}
		switch {
		case c.defs == nil:
			return fmt.Errorf("%w: the supervisor must come from supervisor.Main, called first of all in main or TestMain", ErrNoMain)
		case !c.knows(pipeline):
			return fmt.Errorf("%w: supervisor.Main was not given pipeline %q, but %s", ErrNoMain, pipeline, strings.Join(c.names(), ", "))
		}
		return nil
	}
	return nil
}

func (c *core) knows(pipeline string) bool {
	for _, d := range c.defs {
		if d.Name() == pipeline {
			return true
		}
	}
	return false
}

func (c *core) names() (names []string) {
	for _, d := range c.defs {
		names = append(names, fmt.Sprintf("%q", d.Name()))
	}
	return names
}
