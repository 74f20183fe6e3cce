package actors

import "github.com/asynkron/protoactor-go/actor"

// Messages. Data lane: plan.Chunk and *eos, so that the end follows the last item. Control lane: the others. *piece
// (both ways between stage and worker), *edge (credit) and *part are defined with what they belong to.
type (
	// eos says that nothing comes any more. The items before it have all arrived.
	eos struct {
		quiet
		in     int  // which of the receiver's inputs
		failed bool // there would have been more
	}
	// cancel goes upwards: the run has failed, and nobody wants more.
	cancel struct {
		quiet
		edge *edge // by which it came
	}
	// drain says to a stage that stands for a region with sources that these are to end here.
	drain struct {
		quiet
		failed bool // the run has
	}
	// skip says to a merge with epochs of its own to end one.
	skip struct {
		quiet
		epoch int
	}
	// late is a stage's tick: pieces have been out for a while.
	late struct{ quiet }
	// rung says that an alarm of the stage is due.
	rung struct{ quiet }
	// renew says to a stage that its workers are to be replaced together with those of another one.
	renew struct {
		quiet
		with string // that stage
	}
	// retire says to a worker to end its state, and comes back when it has.
	retire struct {
		quiet
		worker int
		with   string     // as in renew
		from   *actor.PID // set by the worker
	}
	// retry says to a source, or to a MergeFunc, that its worker may be replaced.
	retry struct{ quiet }
	// poke says to a source that there is something in the ring.
	poke struct{ quiet }
	// begin says to a source's worker to run.
	begin struct {
		quiet
		died error // written by the worker whose iterator has not returned
	}
)

// control marks messages that overtake data which has not been taken out of the mailbox: credits, results of workers,
// redeliveries.
type control interface{ control() }

// A quiet message is one of ours. What is on its way when a run is stopped reaches nobody, and protoactor would start a
// goroutine that lives for a second to say so, a few times; the method keeps it from that.
type quiet struct{}

// IgnoreDeadLetterLogging implements protoactor's interface of that name.
func (quiet) IgnoreDeadLetterLogging() {}

func (*cancel) control() {}
func (*skip) control()   {}
func (*drain) control()  {}
func (*late) control()   {}
func (*rung) control()   {}
func (*renew) control()  {}
func (*retire) control() {}
func (*retry) control()  {}
func (*poke) control()   {}
func (*begin) control()  {}
