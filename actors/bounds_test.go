package actors

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/weirflow/weir/internal/plan"
)

// The description of a graph adds up what plan says; the windows are what holds.
func TestWindowsAreAsLargeAsTheDescriptionSays(t *testing.T) {
	system := actor.NewActorSystem()
	for _, mailbox := range []int{1, 4, 100} {
		for _, held := range []int{0, 32} {
			for _, buffer := range []int{plan.Flow, 0, 3, 8, 100, 5000} {
				t.Run(fmt.Sprint(mailbox, held, buffer), func(t *testing.T) {
					s := &plan.Stage{Mailbox: mailbox, MaxHeld: held, Buffer: buffer, Item: reflect.TypeFor[int]()}
					r := &Run{sys: system, ctx: t.Context(), graph: &plan.Graph{Stages: []*plan.Stage{s}}, stats: []*stageStats{{}}}
					in := &edge{}
					if w := newStage(r, s, nil, in, []outbox{{}}).win; w.most != s.Window().Most() || w.size > w.most {
						t.Errorf("a stage: at most %d, at first %d, described as %d", w.most, w.size, s.Window().Most())
					}
					if w := newOutlet(r, &edge{}).win; w.most != r.graph.OutletWindow().Most() || w.size > w.most {
						t.Errorf("an outlet: at most %d, at first %d, described as %d", w.most, w.size, r.graph.OutletWindow().Most())
					}
					s.Feed = func() plan.Feed { return noFeed{} }
					if w := newSource(r, s, nil, newTap(r, 0), outbox{}).win; w.most != s.Ring() || w.size > w.most || s.Ring() > s.RingSize() {
						t.Errorf("a source: at most %d, at first %d, described as %d of %d", w.most, w.size, s.Ring(), s.RingSize())
					}
				})
			}
		}
	}
}

// So are those of the inputs of a merge, and of what may not have more room than what is before it.
func TestWindowsWithoutABufferAreAsLargeAsTheDescriptionSays(t *testing.T) {
	for _, room := range []int{0, 8, 100, plan.LargestRoom} {
		for _, buffer := range []int{plan.Flow, 0, 9, 5000} {
			before := &plan.Stage{Mailbox: 1, Buffer: buffer, Item: reflect.TypeFor[int]()}
			if buffer == plan.Flow {
				before.MaxRoom = room
			}
			s := &plan.Stage{Index: 1, In: []plan.Port{{Stage: 0}}, Mailbox: 3, Buffer: plan.Flow, MaxRoom: before.RoomBehind(), Item: before.Item, Mix: &plan.Mix{}}
			r := &Run{graph: &plan.Graph{Stages: []*plan.Stage{before, s}}, stats: []*stageStats{{}, {}}}
			if w := newStage(r, s, nil, &edge{}, []outbox{{}}).win; w.most != s.Window().Most() || w.size > w.most {
				t.Errorf("room %d, buffer %d: a stage: at most %d, at first %d, described as %d", room, buffer, w.most, w.size, s.Window().Most())
			}
			m := newMixer(r, s, nil, map[plan.Port]*edge{s.In[0]: {}}, outbox{})
			if w := m.ins[0].win; w.most != r.graph.InputWindow(s, 0).Most() || w.size > w.most {
				t.Errorf("room %d, buffer %d: a merge: at most %d, at first %d, described as %d", room, buffer, w.most, w.size, r.graph.InputWindow(s, 0).Most())
			}
		}
	}
}

// A window that follows the flow never grants more than it is described to.
func TestAWindowNeverGrantsMoreThanIsDescribed(t *testing.T) {
	s := &plan.Stage{Mailbox: 3, MaxHeld: 5, Buffer: plan.Flow}
	w := windowOf(s.Mailbox, s.MaxHeld, s.Buffer, swift())
	for left := range uint64(100_000) {
		if left%777 == 0 {
			w.weigh(int64(left)<<20, 1)
		}
		if limit, ok := w.next(left); ok && limit-left > uint64(s.Window().Most()) {
			t.Fatalf("%d granted at %d, described as %d", limit, left, s.Window().Most())
		}
	}
}

// noFeed is a source without items.
type noFeed struct{}

func (noFeed) Start(int, int64) {}

func (noFeed) Bind(*plan.Gate)             {}
func (noFeed) Run(context.Context)         {}
func (noFeed) Take(uint64, int) plan.Chunk { return nil }
