package deadletter

import (
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/weirflow/weir/stages"
)

// Read yields the letters of the file at path, in the order in which they were written; a name that ends in .msgpack says
// how they lie there, as for File. It opens the file at the first step of each loop, and closes it with its end, so it may be
// ranged over again. A loop ends with the letters that were there when it began: one that tries them again may write those
// that fail again to the same file.
//
// A last letter cut short is an error wrapping io.ErrUnexpectedEOF, after all whole letters; supervisor.Replay passes over it,
// since it was never handed over. Other damage is an error that
// names the line, or in msgpack the offset; the loop may go on behind it, and meets the letters that follow, unless the head
// of a msgpack letter is damaged. An error of the system, such as one that wraps fs.ErrNotExist, is the last. With every
// error comes the zero Letter.
//
// The memory it takes is in proportion to the longest letter, whatever else is in the file. It waits only for the file.
func Read(path string) iter.Seq2[stages.Letter, error] {
	return func(yield func(stages.Letter, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(stages.Letter{}, fmt.Errorf("dead letters: %w", err))
			return
		}
		defer f.Close()
		var in io.Reader = f
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			in = io.LimitReader(f, info.Size())
		}
		formatOf(path, maxLetterBytes).read(in, func(l stages.Letter, err error) bool {
			if err != nil {
				return yield(stages.Letter{}, fmt.Errorf("dead letters: read %s: %w", path, err))
			}
			return yield(l, nil)
		})
	}
}
