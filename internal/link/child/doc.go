// Package child starts this program again as a child process, and is the child's own side.
//
// # Usage
//
// The parent calls Start and speaks over Process.Conn. The child finds out with Marked that it is one, before it does
// anything else, and calls Enter. What they say to each other is not this package's business: it deals in descriptors,
// limits, lines of output and deaths.
//
// # Descriptors of a child
//
//	0     /dev/null
//	1, 2  pipes, read by the parent: no output of user code can damage what is said over the connection
//	3     control: a pipe of which the parent has the writing end. One byte says that the limits are set; its end, that the
//	      child must end
//	4     the connection: one end of a socket pair. It has no name and no port, so no stranger can reach it
//	5...  Spec.Files
//
// # Life and death
//
// A child never outlives its parent, however that ends. Linux kills it when the thread that started it ends
// (PR_SET_PDEATHSIG, prctl(2)), stopped or not; that thread is kept until the child has been reaped, because the signal
// belongs to the thread, not to the process. Beside it the end of the control pipe makes the child exit, everywhere. Each
// alone leaves orphans: the first is cleared for a program with file capabilities, the second does not reach a stopped child.
//
// The child leads a process group of its own, so that Ctrl-C in a terminal is the parent's business. The group is killed
// when the child has died, before it is reaped: what it started goes with it, unless it has made a group of its own.
//
// # Concurrency
//
// Each process has five goroutines: one keeps the thread that started it, one waits for its death, two read its
// output, one hands lines on. All have ended soon after Exited is closed, if Spec.Output returns.
//
// # Platforms
//
// Linux has all of it. Other Unix systems have no parent-death signal, so that a stopped child outlives a killed parent until
// it is continued; no Spec.CPUs; and of Spec.MemoryBytes only the part of Go's runtime. Elsewhere Start returns ErrUnsupported.
//
// # Failure
//
// Start returns an *Error, which names the step; ErrExhausted is in its chain if the system had no room. What the child does
// with its life, an exit at once included, is told by Exited and Exit only.
package child
