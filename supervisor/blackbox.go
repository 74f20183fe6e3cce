package supervisor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/link/arena"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// What a child was at when it died, of regions with a source or an aggregate: each worker notes it in memory that the parent reads
// then.

// box makes the black box of a session with a child; nil if there is none.
func (n *nodes) box(r *plan.Region) *arena.Box {
	if _, child := n.at[r].(Subprocess); !child || r.Keyed {
		return nil
	}
	b, err := arena.NewBox(plan.BlackBoxBytes)
	if err != nil {
		return nil // as on systems that have no such memory
	}
	return b
}

// inherited are the files that the session's child gets.
func (s *session) inherited() []*os.File {
	files := s.shared.files()
	if s.box != nil {
		files = append(files, s.box.File())
	}
	return files
}

// boxSize is what the child is told.
func (s *session) boxSize() uint64 {
	if s.box == nil {
		return 0
	}
	return s.box.Size()
}

// executing is what a child was at that is dead.
func (s *session) executing() []plan.Executing {
	if s.box == nil {
		return nil
	}
	return plan.ReadBlackBox(s.box.Contents()) // who has had no slot is executed again, and has one then, or is not found
}

// unopened ends a session that was not opened, because of err. Where the black box says that the region had begun all the same, the
// process has died of its work before its answer was heard.
func (s *session) unopened(b body, err error) {
	if len(s.executing()) == 0 {
		exit := b.end(0)
		err, final := s.nodes.unanswered(s.region, errors.Join(err, exit))
		s.lost(err, nil, false, final)
		return
	}
	exit := b.end(time.Second)
	if exit == nil || !b.blames(err) {
		s.fail(errors.Join(err, exit), nil, false)
		return
	}
	at := s.executing()
	s.fail(during(s.nodes.run.graph, at, exit), at, true)
}

// openBox opens the black box that comes with a session, the last of its files. Without one it is nil.
func openBox(files []*os.File, bytes uint64) (rest []*os.File, box *plan.BlackBox, err error) {
	if bytes == 0 {
		return files, nil, nil
	}
	n := len(files) - 1
	if n < 0 || bytes != plan.BlackBoxBytes {
		return nil, nil, errors.New("there is no black box here, or a session had it before")
	}
	mem, err := arena.OpenBox(files[n], bytes)
	if err != nil {
		return nil, nil, err
	}
	return files[:n], plan.NewBlackBox(mem), nil
}

// during adds to the end of a process what it was at: what is fatal need not be an item, and its stage is not known otherwise.
func during(g *plan.Graph, all []plan.Executing, err error) error {
	var at []string
	for _, e := range all {
		if e.Stage >= len(g.Stages) {
			continue
		}
		name := fmt.Sprintf("stage %q", g.Stages[e.Stage].Name)
		switch {
		case e.What == plan.DoesOpen:
			name += " was opened"
		case e.What == plan.DoesIterate:
			name = fmt.Sprintf("source %q was at work", g.Stages[e.Stage].Name)
		case e.Flush:
			name += " flushed what it held"
		default:
			name += " was at work"
		}
		at = append(at, name)
	}
	if at == nil {
		return err
	}
	slices.Sort(at)
	at = slices.Compact(at)
	return fmt.Errorf("while %s: %w", strings.Join(at, ", "), err)
}

// triedBefore is plan.Graph.Tried for a region of which processes have died.
func triedBefore(all []wire.Suspect) func(stage int, id plan.ID) int {
	if len(all) == 0 {
		return nil
	}
	return func(stage int, id plan.ID) (n int) {
		for i := range all {
			x := &all[i]
			if x.Stage == stage && x.Source == id.Source && x.Epoch == id.Epoch && x.From <= id.Index && id.Index < x.To && (!x.Exact || x.Path == id.Path) {
				n = max(n, x.Deaths)
			}
		}
		return n
	}
}

// watched has the workers of a region note what they are at, and be careful with what is suspected.
func (t *tenancy) watched(c *actors.Config) {
	c.Box, c.Suspects = t.box, t.open.Suspects
}
