package supervisor_test

import (
	"context"
	"errors"
	"slices"

	"github.com/weirflow/weir/stages"
)

// An archive is a dead-letter sink that knows what it has stored for good. Its functions, unless nil, are asked first, and
// it fails if they do.
type archive struct {
	opens  func() error
	write  func(ctx context.Context, n int) error // before it takes its n-th letter, from 0
	sync   func() error
	closes func() error

	opened, open int // in all, and now
	taken        []stages.Letter
	stored       int // of them
}

func (a *archive) OpenLetters(context.Context) (stages.LetterWriter, error) {
	a.opened++
	if a.opens != nil {
		if err := a.opens(); err != nil {
			return nil, err
		}
	}
	a.open++
	return a, nil
}

func (a *archive) Write(ctx context.Context, l stages.Letter) error {
	if a.write != nil {
		if err := a.write(ctx, len(a.taken)); err != nil {
			return err
		}
	}
	l.Payload = slices.Clone(l.Payload)
	a.taken = append(a.taken, l)
	return nil
}

func (a *archive) Sync() error {
	if a.sync != nil {
		if err := a.sync(); err != nil {
			return err
		}
	}
	a.stored = len(a.taken)
	return nil
}

func (a *archive) Close() error {
	a.open--
	if a.closes != nil {
		return a.closes()
	}
	return nil
}

var errFull = errors.New("disk full")
