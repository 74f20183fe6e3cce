package actors

// Messages. Data lane: plan.Chunk and *eos, so that the end follows the last item. Control lane: the others. *piece
// (both ways between stage and worker), *edge (credit) and *part are defined with what they belong to.
type (
	// eos says that nothing comes any more. The items before it have all arrived.
	eos struct {
		failed bool // there would have been more
	}
	// cancel goes upwards: nobody wants more.
	cancel struct{}
	// late is a stage's tick: pieces have been out for a while.
	late struct{}
	// waited says that the first item held has waited as long as it may.
	waited struct{}
	// poke says to a source that there is something in the ring.
	poke struct{}
	// begin says to a source's worker to run.
	begin struct {
		died error // written by the worker whose iterator has not returned
	}
)

func (*cancel) control() {}
func (*late) control()   {}
func (*waited) control() {}
func (*poke) control()   {}
func (*begin) control()  {}
