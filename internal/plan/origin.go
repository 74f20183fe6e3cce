package plan

import (
	"context"
	"iter"
)

// An Origin is what a stages.Origin is made of.
type Origin[T any] struct {
	Open  func(ctx context.Context, epoch int, index int64) iter.Seq2[T, error] // nil: there is nothing to open
	Local bool                                                                  // cannot be opened again
	Fault string                                                                // a mistake in what it was made of
}
