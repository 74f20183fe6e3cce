// Package deadletter keeps items that failed for good in files, and reads them back.
//
// # Usage
//
//	stages.Map(raw, "decode", decode, stages.OnError(stages.DeadLetter(deadletter.File("failed.jsonl"), 100)))
//
//	for letter, err := range deadletter.Read("failed.jsonl") {
//		...
//	}
//
// A file has one line of JSON per letter: each begins with {"letter":1, where 1 is the version of the form. Text that is
// not UTF-8, as a file's name may be, stands there as {"base64":"..."}. Files may be joined with cat and filtered with
// grep or jq; empty lines are passed over, and what else is no letter is damage. If the name ends in .msgpack, a letter is
// a frame instead, with checksums and without base64: a msgpack array of "letter1", two numbers and the letter's bytes.
//
// All of a letter comes back as it was, nil and empty slices apart, but for the location of its Time: that is UTC, the
// same instant to the nanosecond. A letter takes at most 1 GiB in the file; with a larger one Write fails.
//
// A letter outlives changes of the program, but its payload is one value of the type that the stage's input had: fields by
// position, without names. Letter.Shape says which, and supervisor.Replay compares it. A letter survives that types are
// renamed or moved to another package, get methods, comments or struct tags, or are defined as another type of the same kind
// (type Name string). It does not survive that a field of a struct is added, removed, renamed, moved or given another kind
// (int64 for int, *T for T), nor that a type which encodes itself is renamed, moved or begins to do so; and what such a type
// makes of bytes that an older version of it has written is its own affair. Letters that do not survive are decoded as the
// old type, and given to Replay with the payload of a new value: see docs/failure-handling.md.
//
// # Concurrency
//
// A file is written by one opening at a time, in this process or another: a second one is refused as long as the first is
// not closed (flock, or LockFileEx on Windows; on other systems there is no lock). The stages of one run share one opening
// if they name the file by the same path. A file may be read at any time, also while a run writes to it: then the last
// letter may be there in part.
//
// # Failure
//
// Every error names the path. OpenLetters fails if the file cannot be written, is in use, or holds something else than
// letters; then it is left as it is. A last letter that is cut short, because the program or the machine died while it was
// written, is removed: its Sync had not returned, so it was not handed over. Any other damage is left for Read to report.
//
// Write and Sync return the error of the system, as when the disk is full. A letter that was written in part is cut off
// again; if that fails too, it is cut off before the next one is written, or when the file is opened again. After a Sync
// that failed nothing is known of the letters before it, and neither Write nor Sync succeeds any more. Both fail as well if
// somebody else has changed the size of the file, or has moved or removed it: letters would be lost.
//
// # Testing
//
// The tests cut a file at every byte, fill disks, and read damaged files; FuzzRead looks for bytes that hurt Read.
package deadletter
