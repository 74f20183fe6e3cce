package supervisor

import (
	"fmt"
	"math"

	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// What a coordinator may say to a region. It ends the session to say anything else: nothing of such a message is done.

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
		return t.misplacedInStream(m, ended)
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

// misplacedInStream is misplaced for a region that is not keyed.
func (t *tenancy) misplacedInStream(m wire.Message, ended bool) error {
	switch m.(type) {
	case *wire.Task, *wire.End:
		switch {
		case t.frames.fed == nil:
			return stray("%T for a region that begins with sources", m)
		case ended:
			return stray("%T behind the end", m)
		}
	}
	if m, ok := m.(*wire.Task); ok {
		return t.frames.misplaced(m)
	}
	return nil
}

// misplaced says what is wrong with inputs: their ids ascend.
func (f *frames) misplaced(m *wire.Task) error {
	if m.Isolated {
		return stray("an item that is to be alone, in a stream")
	}
	after := 0
	for _, e := range m.Ends {
		if e.After < after || e.After > len(m.Items) {
			return stray("an epoch that ends behind item %d, of %d", e.After, len(m.Items))
		}
		after = e.After
	}
	next := f.next
	for i := range m.Items {
		switch it := &m.Items[i]; {
		case it.ID < next:
			return stray("item %d, where %d or a later one was next", it.ID, next)
		case it.ID > math.MaxInt64-1:
			return stray("an id that is too large")
		case it.Identity.Source >= len(f.t.graph.Stages):
			return stray("an item of a source that the graph does not have")
		}
		next = m.Items[i].ID + 1
	}
	f.next = next
	return nil
}
