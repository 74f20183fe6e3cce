package supervisor

import (
	"fmt"
	"math"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// What a coordinator may say to a keyed region. It ends the session to say anything else: nothing of such a message is done.

// A strayError is a rule of the link that a peer has broken.
type strayError struct{ reason string }

func (e *strayError) Error() string { return "it breaks a rule of the link: " + e.reason }

func stray(format string, args ...any) error { return &strayError{fmt.Sprintf(format, args...)} }

// guard makes a panic of f an error: no message may end the process of a node.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			value, stack := plan.Panicked(r)
			err = fmt.Errorf("panic: %s\n%s", value, stack)
		}
	}()
	return f()
}

// misplaced says what is wrong with a message of the coordinator, when it comes.
func (t *tenancy) misplaced(m wire.Message, ended bool) error {
	if !t.region.Keyed {
		return nil // the rules of streams are in the place where they are kept
	}
	switch m := m.(type) {
	case *wire.Task:
		if ended {
			return stray("tasks behind the end")
		}
		return t.gather.misplaced(m)
	case *wire.End:
		if ended {
			return stray("a second end")
		}
	case *wire.Limit, *wire.Drain:
		return stray("%T, which is for streams", m)
	}
	return nil
}

// misplaced says what is wrong with tasks.
func (g *gather) misplaced(m *wire.Task) error {
	if len(m.Ends) > 0 {
		return stray("ends of epochs, which are for streams")
	}
	if m.Isolated && len(m.Items) != 1 {
		return stray("%d items that are to be alone", len(m.Items))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if n, most := len(g.inputs)+len(m.Items), g.t.open.Window; n > most {
		return stray("%d items in a window of %d", n, most)
	}
	var seen map[uint64]bool // nil while they ascend
	for i := range m.Items {
		it := &m.Items[i]
		if seen == nil && i > 0 && it.ID <= m.Items[i-1].ID {
			seen = make(map[uint64]bool, len(m.Items))
			for _, before := range m.Items[:i] {
				seen[before.ID] = true
			}
		}
		switch {
		case it.ID > math.MaxInt64:
			return stray("an id that is too large")
		case g.inputs[it.ID] != nil || seen[it.ID]:
			return stray("item %d twice", it.ID)
		case it.Identity.Source >= len(g.t.graph.Stages):
			return stray("an item of a source that the graph does not have")
		}
		if seen != nil {
			seen[it.ID] = true
		}
	}
	return nil
}
