// Package arena is memory shared by two processes of one machine, for payloads that are too large to be copied through
// a socket. One process writes blocks into it, the other reads them; which block lies where is told over the link, as a
// wire.Block.
//
// # Usage
//
// There is an arena per direction of a session, made anew for every incarnation, so that no block of an earlier one can
// be taken for one of this. The deploying program makes both, and its child inherits the descriptors:
//
//	                   in the deploying program    in the child     seals
//	program -> child   NewWriter                   OpenReader       SHRINK, GROW, FUTURE_WRITE, SEAL
//	child -> program   NewReader                   OpenWriter       SHRINK, GROW, SEAL
//
// SHRINK and GROW fix the size: nobody can truncate the file below a mapping, which would make the next read of it
// a SIGBUS. FUTURE_WRITE is set when the program has mapped its own arena: from then on nobody can write to it but
// through that mapping, so a child can neither write into it nor punch holes. The arena that the child fills cannot have
// that seal, because the child maps it after it was made. SEAL keeps everyone from adding any seal later. A Reader
// refuses a file that lacks what is required.
//
// [Writer.Put] copies a payload into a block, [Writer.Alloc] hands a block out to be filled in place. The reader takes it with
// [Reader.View] and gives it back with [Reader.Release]; the blocks which [Reader.Returned] then names are sent to
// the writer, which frees them, [Writer.Free]. Both refuse what is not true of a block: it comes from a peer.
//
// What a Reader shows, the other process can still write to, whatever it has promised. So a private copy is made before anything
// in it is believed: nothing is ever validated or decoded in place.
//
// # Memory
//
// An arena takes no memory when it is made. It grows as it is used, from its low end, in steps of 1 MiB and more, and keeps what
// it has. Both processes ask for the pages of a step at once, in a way that makes of memory that cannot be had an error, and not a
// signal later: then there is no room. Before Linux 5.14 there is no such way, and all pages are reserved when the arena is made.
// They are charged to the memory cgroup of the process that touches them first, which answers too much of it with the OOM killer, not with
// an error: count arenas in its budget. They are in no file system and have no name; the last process that has
// them mapped takes them with it, however it dies.
//
// # Concurrency
//
// All methods may be called by any goroutine. None of them blocks, and none waits for the other process: where there is no
// room, Put and Alloc say so, and the payload goes over the link. A writer that waited for room could wait for ever, for a
// reader that keeps its blocks until it has been sent more.
//
// # Failure
//
// On systems other than Linux, and before Linux 5.1, all constructors return [ErrUnsupported]. Nothing that the other process does,
// dying included, invalidates what was read from a block that has not been released: a mapping stays until Close has
// been called and the last block was given back.
//
// # Testing
//
// The book of a writer is tested against a model; the rest needs Linux and processes, which are the test's own binary.
package arena
