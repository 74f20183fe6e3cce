package supervisor

import (
	"crypto/tls"
)

// A Placement says where a pipeline, or a part of it, runs. The interface is sealed; placements are plain values, of the
// types below, not pointers to them.
//
//	InProcess{}                                                here
//	Subprocess{}                                               in a child of this program
//	Remote{Addr: "tcp://loader-1:7433", Join: token}           on a node that somebody started
//	Pool{Size: 4, Of: Subprocess{}}                            in four of those
//	Regions{{From: "decode", To: "resize", On: Subprocess{}}}  that part there, the rest here
//
// Deploy refuses a placement that cannot be, with a *PlacementError for each mistake in it, before anything has started.
type Placement interface {
	// String returns the form that ParsePlacement reads, without secrets: what is not fit to be shown, or has no such form,
	// is left out, as the types say.
	String() string
	placement()
}

// InProcess runs stages in the deploying process: no copy of any value, no isolation.
type InProcess struct{}

// Subprocess runs stages in a child process of this program, with its own heap, scheduler and garbage collector, so
// that their work does not delay the deploying process's. The supervisor must come from Main. A child that dies is
// replaced, and nothing is lost. Zero fields inherit from this process.
type Subprocess struct {
	// Nice is added to the niceness, 0 to 19: at 19 the child runs when nobody else wants to.
	Nice int
	// CPUs are the cores that the child may run on, by the system's numbers, each once. nil: all that this process may.
	CPUs []int
	// GOMAXPROCS is how many goroutines of the child run at once, at most 8192. 0: as many as it has cores.
	GOMAXPROCS int
	// MemoryBytes is the child's GOMEMLIMIT. Where the system can limit the memory of a process, it does so 256 MiB above
	// that: a child that wants more dies and is replaced. The system looks when memory is asked for anew, so a single large piece
	// may still fit into what Go has reserved, and the next one is what fails. At least 1 MiB; 0: no limit.
	MemoryBytes int64
	// ArenaBytes is the shared memory for large payloads, from 16 KiB on, in each direction: byte slices, slices of numbers,
	// codecs.Bulk and Views, that are items themselves. It takes memory as it is used, up to this much. An item that finds no room goes
	// through the link instead, which NodeStats.ArenaFull counts; one of more than 64 MiB cannot, and fails with
	// codecs.ErrTooLarge: let there be room for all of those that are on their way at once. At least 16 KiB; 0: 64 MiB.
	ArenaBytes int64
	// Env is added to the environment of the child, which otherwise has only what is harmless of this process's (PATH, HOME,
	// TMPDIR, TZ, the locale, and what is Go's). An entry is "KEY=value"; or "KEY", for the value it has in this process,
	// which must have one when the pipeline is deployed. String shows only the keys.
	Env []string
}

// Remote runs stages on a node: a program with the same pipelines that calls ServeNode. A name that stands for
// several addresses ("dns:///loaders:7433") makes a pool of them.
//
// Exactly one of TLS and Join is needed. At a loopback address ("tcp://127.0.0.1:7433", "tcp://localhost:7433") both may
// be missing, if the node allows that. String shows the files that ParsePlacement and ReadJoinToken have read; a TLS
// configuration that was made in code it shows as "?tls", which ParsePlacement refuses.
type Remote struct {
	Addr string      // "tcp://host:port" or "dns:///name:port", port by number
	TLS  *tls.Config // with the client's certificate, checking the node's, for TLS 1.3
	Join JoinToken   // instead of TLS

	files tlsFiles // where TLS came from, if ParsePlacement made it
}

// Pool runs Size copies of the same stages. Items go to the copy that has room; order is restored behind the pool for
// stages that are Ordered. Mailbox sizes are per copy.
type Pool struct {
	Size int       // 1 to 1024
	Of   Placement // Subprocess or Remote
}

// Regions takes parts of the graph elsewhere. What no region names stays in the deploying process: so all of it does if
// there are none. Regions may lie next to each other; they must not overlap.
type Regions []Region

// A Region is all stages on the ways from one stage to another, both included. They must be connected, and have one
// way in and one out; a region that begins with a source has none in. Values within a region never cross a process
// boundary and need not be encodable.
//
// Stages are meant by name, because a placement comes from outside the program. Deploy refuses an unknown name and
// lists those that exist.
type Region struct {
	From string    // not empty
	To   string    // "" means From
	On   Placement // anything but Regions, and not nil
}

func (InProcess) placement()  {}
func (Subprocess) placement() {}
func (Remote) placement()     {}
func (Pool) placement()       {}
func (Regions) placement()    {}

// name is how people call the region, and how ParsePlacement reads it.
func (r Region) name() string {
	if r.To == "" {
		return quoteStage(r.From)
	}
	return quoteStage(r.From) + ".." + quoteStage(r.To)
}
