package supervisor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Where a schedule's dead letters go, and what must hold for them.

// budget is the policy of a stage.
func (p *trial) budget(w *work) stages.AnyOption {
	return p.policy(w.skip, w.letters, lap{stage: w.index})
}

// policy is one with such a budget, of the stage at.
func (p *trial) policy(skip, letters int, at lap) stages.AnyOption {
	switch {
	case skip < 0:
		return stages.OnError(stages.Fail())
	case letters > 0:
		return stages.OnError(stages.DeadLetter(&letterBox{trial: p, stage: at.stage, fails: letters}, skip))
	}
	return stages.OnError(stages.Skip(skip))
}

// A letterBox is the sink of one stage, and its writer.
type letterBox struct {
	trial    *trial
	stage    int // its index; below 0 that of a source
	fails    int // at which letter, if that is more than 1
	written  int
	unsynced []stages.ID
}

func (b *letterBox) OpenLetters(context.Context) (stages.LetterWriter, error) { return b, nil }

func (b *letterBox) Write(ctx context.Context, l stages.Letter) error {
	if b.written++; b.written == b.fails && b.written > 1 {
		b.trial.seen.see(letterLost)
		b.trial.mu.Lock()
		defer b.trial.mu.Unlock()
		b.trial.broken[l.Stage] = true
		return errBad
	}
	if b.written%3 == 0 { // others wait
		select {
		case <-time.After(7 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if b.stage < 0 {
		b.trial.seen.see(sourceLetter)
	}
	b.unsynced = append(b.unsynced, l.Item)
	return nil
}

func (b *letterBox) Sync() error {
	b.trial.mu.Lock()
	defer b.trial.mu.Unlock()
	for _, id := range b.unsynced {
		b.trial.mail[lap{b.stage, id}]++
		b.trial.seen.see(letterWritten)
	}
	b.unsynced = b.unsynced[:0]
	return nil
}

func (b *letterBox) Close() error { return nil }

// checkLetter wants of an item that is said to have failed that its letter was written before, once.
func (p *trial) checkLetter(e supervisor.ItemFailed) {
	letters := 0
	p.each(func(w *work) {
		if w.name == e.Err.Stage && w.letters > 0 {
			letters = 1
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.mail[lap{p.byName[e.Err.Stage], e.Err.Item}]; n != letters || e.Letter != (letters > 0) {
		p.odd = append(p.odd, fmt.Sprintf("stage %q: item %v failed, with %d letters that were written, want %d", e.Err.Stage, e.Err.Item, n, letters))
	}
}

// checkMail wants, of a complete run, that there are no letters of items that have not failed.
func (p *trial) checkMail(s supervisor.Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	written, failed := int64(len(p.mail)), int64(0)
	for _, st := range s.Stages {
		failed += st.Letters
	}
	if written != failed {
		p.odd = append(p.odd, fmt.Sprintf("%d letters were written, of %d items that failed", written, failed))
	}
}

// rest notes that something waits until then.
func (p *trial) rest(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.rests) {
		p.rests = until
	}
}

func (p *trial) isResting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.rests)
}
