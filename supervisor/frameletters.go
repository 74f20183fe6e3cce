package supervisor

import (
	"context"
	"slices"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/stages"
)

// lettersOf has the stages of a region keep the items that have failed for good.
func lettersOf(t *tenancy, to stages.LetterWriter) []actors.Letters {
	var with []int
	for _, i := range t.region.Stages {
		if t.graph.Stages[i].Policy.Letters != nil {
			with = append(with, i)
		}
	}
	if with == nil {
		return nil
	}
	return []actors.Letters{{Stages: with, To: to}}
}

// A frameKeeper is a dead-letter sink that keeps the items for fails.
type frameKeeper struct{ f *frames }

// Write implements stages.LetterWriter.
func (k frameKeeper) Write(_ context.Context, l stages.Letter) error {
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	k.f.payload[letterKey{l.Stage, l.Item}] = slices.Clone(l.Payload)
	return nil
}

// Sync implements stages.LetterWriter: fails sends.
func (frameKeeper) Sync() error { return nil }

// Close implements stages.LetterWriter.
func (frameKeeper) Close() error { return nil }
