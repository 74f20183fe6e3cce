package actors

import (
	"fmt"

	"github.com/weirflow/weir/internal/plan"
)

// Workers are replaced together with those of another stage.

// renewTogether tells the stages of which the workers are replaced together with one of s.
func (r *Run) renewTogether(s *plan.Stage) {
	for _, i := range s.Restart.Together {
		r.send(r.pidOf(i), &renew{with: s.Name})
	}
}

// renew replaces all workers because of the fate of another stage: each when it is through with what it is at.
func (s *stage) renew(m *renew) {
	if s.aborted || s.over {
		return
	}
	for i := range s.workers {
		h := &s.workers[i]
		if h.retiring || h.depth == 0 && !h.opened {
			continue
		}
		h.retiring = true
		for p := s.head; p != nil; p = p.next {
			if w := p.work.Load(); w != nil && p.worker == i {
				w.Yield.Store(true)
			}
		}
		s.revoke(i)
		s.cx.Send(h.pid, &retire{worker: i, with: m.with})
	}
}

// retired is told by a worker that it has done so. It is the same actor that goes on.
func (s *stage) retired(m *retire) {
	h := &s.workers[m.worker]
	if s.aborted || s.over || !h.retiring || h.pid != m.from {
		return
	}
	h.retiring, h.opened = false, false
	h.lives++
	if s.spec.Holds {
		s.restore()
	}
	s.stats.restarts.Add(1)
	s.run.event(Restarted{Stage: s.spec.Name, Worker: m.worker, Lives: h.lives, Err: fmt.Errorf("together with stage %q", m.with)})
}
