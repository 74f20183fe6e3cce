package supervisor

import (
	"context"
	"errors"
	"iter"

	"github.com/weirflow/weir/stages"
)

// A DeployOption is made by Replay.
type DeployOption interface{ deploy(*deployment) error }

// A deployment is what the options of one say.
type deployment struct {
	letters iter.Seq2[stages.Letter, error] // nil: the sources run
}

// Replay runs letters instead of the sources: each enters the graph at the stage where it failed, and goes on from there.
// The sources are not opened. What the letters' stages and all behind them do is the same as ever: policies, budgets, dead
// letters (an item that fails again is a letter again), hooks, statistics.
//
// Deploy goes through the letters first, and refuses those that cannot be run: of another pipeline (one without a name is
// taken to be p), of a stage that p lacks, of a source or a merge, in another codec than the pipeline's, of another shape than
// the stage's input has now (Letter.Shape), and those of a stage between a RouteBatch and its Rejoin, since the other parts of
// the batch are gone. It names the letters by their number in the sequence, from 1. An error in the sequence is one of Deploy.
// With any error nothing runs. The end of ctx ends this, between two letters.
//
// But an error that wraps io.ErrUnexpectedEOF, and is the last that the sequence yields, is passed over: so deadletter.Read
// ends if the program died while it wrote a letter. That one was never handed over, and its item not counted as failed.
//
// While the run goes on, the sequence is gone through once more for each stage that has letters, by several goroutines at
// once: so a million letters take no memory, and letters must yield the same ones each time. Those that have been added
// at its end since, maybe by this very run, are left alone. If some are missing, or others, or the sequence has an error
// now, the run fails, though what came before has been run; so it does with a letter that does not decode, which it names by
// its number: to go on without it, leave it out of the sequence. The memory of a Payload may be used again for the next letter.
//
// An item that is replayed has a new identity. The letters of stage "parse" are the items of a source "parse: letters",
// counted from 0 in the order of the sequence; a merge "parse: with letters" lets them in, as they come, among the items
// that other letters have become upstream. (Where p has a stage of that name already, a ' is added.) Letters of one stage
// keep their order, as far as the stages do; those of different stages have none.
//
// All of it is one epoch, whatever the sources' Epochs are. The build function is called again. A merge by InputOrder with
// letters between it and its fork has no order to restore: it merges by Arrival. A Weighted one does without EpochItems and
// UntilFirstEnd. The function of a MergeFunc sees inputs that have ended. Batches and aggregates are made of what comes: a
// Batch with DropLast drops, and counts as filtered, what does not fill one.
func Replay(letters iter.Seq2[stages.Letter, error]) DeployOption { return replay{letters} }

type replay struct {
	letters iter.Seq2[stages.Letter, error]
}

func (r replay) deploy(d *deployment) error {
	switch {
	case r.letters == nil:
		return errors.New("supervisor: Replay was given no letters: nil")
	case d.letters != nil:
		return errors.New("supervisor: Replay is given twice: join the letters")
	}
	d.letters = r.letters
	return nil
}

// withOptions returns what is to be deployed instead of p.
func withOptions[Out any](ctx context.Context, p stages.Pipeline[Out], opts []DeployOption) (_ stages.Pipeline[Out], err error) {
	var d deployment
	for _, o := range opts {
		if o == nil {
			err = errors.Join(err, errors.New("supervisor: a DeployOption is nil"))
			continue
		}
		err = errors.Join(err, o.deploy(&d))
	}
	if err != nil || d.letters == nil {
		return p, err
	}
	return p.Replaying(ctx, d.letters)
}
