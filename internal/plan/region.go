package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A Region is a part of a graph that is placed elsewhere: all stages on the ways from one stage to another. Values enter it by
// one port, or by none, and leave it by the last stage.
//
// A region is cut out of a graph, and both halves are graphs in which every stage keeps its index: the one that goes elsewhere
// is Absent in the other. So identities, statistics and failures mean the same in both.
type Region struct {
	From, To int
	Stages   []int // in order
	In       Port  // what feeds it; its Stage is None if the region begins with sources
	// Keyed says that all that comes of an input is told in one go, and that the region may have copies: every stage in it
	// works on one item at a time, and none on what another item has left behind.
	Keyed bool
	// Ordered says that what comes out is in the order of what came in.
	Ordered bool
	// Why it is not Keyed, for people.
	Why string
	// Parts says that an item of a source may become several things: several outputs, or what a sink in the region gets.
	Parts bool
	// Holds says that something in it holds items back.
	Holds bool
	// Epochs says that the epochs that come out are those of its sources.
	Epochs bool
	// Cannot says why the region cannot be elsewhere at all; "" if it can.
	Cannot string
}

// None is no stage.
const None = -1

// A Far is what a stage has besides that stands for a region.
type Far struct {
	Region *Region
	Copies int
	Of     *Stage // the region's last stage, as it was
	Ahead  int    // items that are with a copy besides those that it works on: at most
	// Lends says that items may lie in shared memory, and that nobody else is given them: that is given back when they are done.
	Lends bool
}

// Named returns the index of the stage of that name, or None.
func (g *Graph) Named(name string) int {
	return slices.IndexFunc(g.Stages, func(s *Stage) bool { return s.Name == name })
}

// RegionName returns what a region is called: "decode", "decode..resize".
func (g *Graph) RegionName(r *Region) string {
	if r.From == r.To {
		return g.Stages[r.From].Name
	}
	return g.Stages[r.From].Name + ".." + g.Stages[r.To].Name
}

// Whole returns the region of all stages.
func (g *Graph) Whole() *Region {
	r := &Region{From: 0, To: g.Outlet.Stage, In: Port{Stage: None}}
	for i := range g.Stages {
		r.Stages = append(r.Stages, i)
	}
	g.classify(r)
	return r
}

// Region returns the region between two stages, both included, or why it is none.
func (g *Graph) Region(from, to int) (*Region, error) {
	r := &Region{From: from, To: to, In: Port{Stage: None}}
	in := g.between(from, to)
	if in == nil {
		return nil, fmt.Errorf("no way leads from %q to %q", g.Stages[from].Name, g.Stages[to].Name)
	}
	for i, s := range g.Stages {
		if !in[i] {
			continue
		}
		r.Stages = append(r.Stages, i)
		for _, p := range s.In {
			switch {
			case in[p.Stage]:
			case i == from && len(s.In) == 1:
				r.In = p
			case i == from:
				return nil, fmt.Errorf("%q has several inputs: a region has one way in", s.Name)
			default:
				return nil, fmt.Errorf("%q is also fed by %q, from outside: a region has one way in", s.Name, g.Stages[p.Stage].Name)
			}
		}
	}
	for _, s := range g.Stages {
		for _, p := range s.In {
			if in[p.Stage] && !in[s.Index] && p.Stage != to {
				return nil, fmt.Errorf("%q also feeds %q, outside: a region has one way out", g.Stages[p.Stage].Name, s.Name)
			}
		}
	}
	switch out := g.Stages[to].Outs; {
	case out > 1:
		return nil, fmt.Errorf("%q has %d outputs: a region has one way out", g.Stages[to].Name, out)
	case out == 0:
		return nil, fmt.Errorf("%q is a sink: a region has one way out", g.Stages[to].Name)
	}
	g.classify(r)
	return r, g.together(r)
}

// between tells the stages on the ways from one to another, by index; nil if there is no way.
func (g *Graph) between(from, to int) []bool {
	behind := make([]bool, len(g.Stages))
	behind[from] = true
	for i, s := range g.Stages {
		for _, p := range s.In {
			behind[i] = behind[i] || behind[p.Stage]
		}
	}
	if !behind[to] {
		return nil
	}
	before := make([]bool, len(g.Stages))
	before[to] = true
	for i := len(g.Stages) - 1; i >= 0; i-- {
		if before[i] {
			for _, p := range g.Stages[i].In {
				before[p.Stage] = true
			}
		}
	}
	for i := range before {
		before[i] = before[i] && behind[i]
	}
	return before
}

// classify says how a region is spoken to.
func (g *Graph) classify(r *Region) {
	r.Keyed, r.Ordered = true, true
	for _, i := range r.Stages {
		s := g.Stages[i]
		why := ""
		switch {
		case s.Feed != nil:
			why = "is a source"
		case s.Holds:
			why = "holds items back"
		case s.Serial:
			why = "has a state that spans items"
		case s.Mix != nil && s.Mix.How != Arrival && s.Mix.How != InputOrder && s.Mix.How != Rejoin:
			why = "mixes in an order of its own"
		}
		if why != "" {
			r.Keyed = false
			if r.Why == "" {
				r.Why = strconv.Quote(s.Name) + " " + why
			}
		}
		if s.Mix == nil && !s.Ordered {
			r.Ordered = false
		}
	}
	r.Epochs = true
	for _, i := range r.Stages {
		s := g.Stages[i]
		// What a RouteBatch hands on is a part, even if it is all of the batch: it has only one branch.
		r.Parts = r.Parts || s.makesSeveral() || s.Outs == 0 || s.Holds && s.MaxOutputs != 1 || s.Kind == "route batch"
		r.Holds = r.Holds || s.Holds
		r.Epochs = r.Epochs && (s.Mix == nil || s.Mix.EpochItems == 0)
	}
	if !r.Keyed {
		g.refuse(r)
	}
}

// makesSeveral reports whether a stage may make several of one item.
func (s *Stage) makesSeveral() bool {
	return s.Feed == nil && s.Mix == nil && !s.Holds && (s.MaxOutputs != 1 && s.Outs == 1 || s.Fork != nil && s.Fork.Several)
}

// refuse says why a region that is not keyed cannot be elsewhere.
func (g *Graph) refuse(r *Region) {
	for _, i := range r.Stages {
		// A new process knows which items of the sources are done, not what the merge had drawn of each input for the epoch at hand.
		switch m := g.Stages[i].Mix; {
		case m != nil && m.EpochItems > 0:
			r.Cannot = fmt.Sprintf("%q makes epochs of %d items: if its process died, nobody would know how many the epoch at hand has had. What comes before it or behind it can be elsewhere", g.Stages[i].Name, m.EpochItems)
			return
		case m != nil && m.UntilFirstEnd:
			r.Cannot = fmt.Sprintf("%q ends an epoch with its first input that ends: if its process died, nobody would know what it has drawn so far, so the epoch would end elsewhere. What comes before it or behind it can be elsewhere", g.Stages[i].Name)
			return
		}
	}
	if to := g.Stages[r.To]; r.In.Stage != None && len(to.Rounds) > 0 && len(to.Rounds[0]) > 0 {
		r.Cannot = r.Why + ", and a merge behind the region restores an order from before it"
		return
	}
	held := make([]bool, len(g.Stages))    // by stage: an aggregate is before it, or it is one
	mixed := make([]string, len(g.Stages)) // one before it, or itself, that makes several of what an aggregate has made
	for _, i := range r.Stages {
		s := g.Stages[i]
		for _, p := range s.In {
			mixed[i] = cmp.Or(mixed[i], mixed[p.Stage])
			held[i] = held[i] || held[p.Stage]
		}
		switch {
		case s.Holds && mixed[i] != "":
			r.Cannot = fmt.Sprintf("%q holds back what %q makes of the outputs of another stage that holds items back: those must leave together", s.Name, mixed[i])
		case s.Holds:
			held[i] = true
		case held[i] && s.makesSeveral():
			mixed[i] = s.Name
		}
	}
}

// together refuses stages whose workers are replaced together although a process boundary lies between them.
func (g *Graph) together(r *Region) error {
	for i, s := range g.Stages {
		for _, with := range s.Restart.Together {
			if slices.Contains(r.Stages, i) != slices.Contains(r.Stages, with) {
				return fmt.Errorf("the workers of %q are replaced together with those of %q, which is not in the same process", s.Name, g.Stages[with].Name)
			}
		}
	}
	return nil
}

// mailboxes is how many items the stages of a region work on at once.
func (g *Graph) mailboxes(r *Region) (n int) {
	for _, i := range r.Stages {
		n += g.Stages[i].Mailbox
	}
	return n
}

// heldIn is how many inputs of a region may be held back in it.
func (g *Graph) heldIn(r *Region) int {
	if r.Keyed || r.In.Stage == None {
		return 0
	}
	weight := make([]int64, len(g.Stages)) // inputs that an item which a stage hands on may stand for
	weight[r.In.Stage] = 1
	sum := int64(0)
	joins := slices.ContainsFunc(r.Stages, func(i int) bool { return len(g.Stages[i].In) > 1 })
	for _, i := range r.Stages {
		s := g.Stages[i]
		for _, p := range s.In {
			weight[i] = max(weight[i], weight[p.Stage])
		}
		for k := range s.In {
			if joins { // what is held back in one branch keeps what came by another one waiting
				sum = min(plus(sum, times(weight[i], int64(g.InputWindow(s, k).Most()))), math.MaxInt32)
			}
		}
		if s.Holds {
			weight[i] = min(times(weight[i], int64(s.MaxHeld)), math.MaxInt32)
			sum = min(plus(sum, weight[i]), math.MaxInt32)
		}
	}
	return int(sum)
}

// LargestAhead is how many items are with a copy of a region at most besides those that it works on.
const LargestAhead = 1024

// Outside returns the graph without regions, in the place of each a stage that stands for it. copies says how many copies of
// each there are. Only what the runtime needs is in it: it is not for descriptions.
func (g *Graph) Outside(regions []*Region, copies []int) *Graph {
	o := *g
	o.Stages = slices.Clone(g.Stages)
	alone := !slices.ContainsFunc(g.Stages, func(s *Stage) bool { return s.Fork != nil && s.Fork.Several })
	for k, r := range regions {
		for _, i := range r.Stages {
			gone := *g.Stages[i]
			gone.Absent = true
			o.Stages[i] = &gone
		}
		from, to := g.Stages[r.From], g.Stages[r.To]
		s := &Stage{
			Index: r.To, Name: g.RegionName(r), Kind: "region", File: from.File, Line: from.Line,
			Outs: 1, Item: to.Item, Pool: to.Pool, Rounds: to.Rounds, MaxHeld: g.heldIn(r),
			// Two at least: stages with one worker have rules of their own, which those in the node keep.
			Mailbox: max(g.mailboxes(r)*copies[k], 2), Buffer: from.Buffer, MaxRoom: from.MaxRoom,
			Ordered: r.Ordered, MaxOutputs: Unlimited, Epochs: 1,
			Far: &Far{Region: r, Copies: copies[k], Of: to, Ahead: LargestAhead, Lends: alone && r.In.Stage != None && g.Stages[r.In.Stage].Pool.Blocks()},
		}
		if r.In.Stage != None {
			s.In = []Port{r.In}
		}
		o.Stages[r.To] = s
		if r.To == g.Outlet.Stage { // of several outputs of a fork, the others end in sinks of the region
			o.Outlet.Out, s.Rounds = 0, nil
		}
	}
	return &o
}

// Inside returns the graph of a region alone. What fed it is a stage of kind "intake". No failure of an item is too many in
// it: that is judged where the run is.
func (g *Graph) Inside(r *Region) *Graph {
	n := *g
	n.Stages = slices.Clone(g.Stages)
	for i, s := range g.Stages {
		c := *s
		c.Absent = !slices.Contains(r.Stages, i)
		n.Stages[i] = &c
	}
	if r.To != g.Outlet.Stage {
		n.Outlet = Port{Stage: r.To}
	}
	if r.In.Stage != None {
		up := g.Stages[r.In.Stage]
		n.Stages[up.Index] = &Stage{
			Index: up.Index, Name: up.Name, Kind: "intake", File: up.File, Line: up.Line,
			Outs: 1, Item: up.Item, Pool: up.Pool, Mailbox: 1, Buffer: Flow, Epochs: 1, Ordered: true, Intake: true,
		}
		n.Stages[r.From].In = []Port{{Stage: up.Index}}
	}
	return &n
}
