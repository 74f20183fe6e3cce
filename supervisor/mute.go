package supervisor

import (
	"errors"
	"fmt"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/plan"
)

// A child that does not answer costs 5 s, and the next one is the same program on the same machine. So not as many are tried as of
// those that die.

// mostMute is how many children in a row may not answer, if no other copy of their region is there.
const mostMute = 3

// muted is what is known of children of a region that do not answer.
type muted struct {
	there int // copies that take items
	inRow int // children that did not answer, since one has
}

// answers notes that a copy takes items. over is called when it does not any more.
func (n *nodes) answers(r *plan.Region) (over func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.muted(r)
	m.there++
	m.inRow = 0
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		m.there--
	}
}

// unanswered notes that a child could not be begun with, and returns why, and whether another one is pointless.
func (n *nodes) unanswered(r *plan.Region, err error) (why error, final bool) {
	if _, child := n.at[r].(Subprocess); !child || !errors.Is(err, link.ErrNoAnswer) {
		return err, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.muted(r)
	if m.inRow++; m.there > 0 || m.inRow < mostMute {
		return err, false
	}
	return fmt.Errorf("%d children in a row, within 5 s each: %w", m.inRow, err), true
}

// muted is called with n.mu held.
func (n *nodes) muted(r *plan.Region) *muted {
	if n.mute[r] == nil {
		n.mute[r] = &muted{}
	}
	return n.mute[r]
}
