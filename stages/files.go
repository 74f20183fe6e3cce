package stages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// FromFiles yields the paths of the regular files under dir, recursively, folder by folder in lexical order, dir included,
// of which the base name matches one of the patterns (path.Match; none means all). A file behind a symbolic link counts as
// regular; a linked folder is not entered. A dir that cannot be read ends the run, as does a folder below it.
func FromFiles(dir string, patterns ...string) Origin[string] {
	if dir == "" {
		return Origin[string]{fault: `the folder is "": say "." for the current one`}
	}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return Origin[string]{fault: fmt.Sprintf("pattern %q: %v", p, err)}
		}
		if strings.Contains(p, "/") {
			return Origin[string]{fault: fmt.Sprintf("pattern %q: patterns are for base names, which have no slash", p)}
		}
	}
	from := FromSeq(func(ctx context.Context) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) { walkFiles(ctx, dir, patterns, yield) }
	})
	from.content = func() string { return fmt.Sprintf("the files of %q like %q", dir, patterns) }
	return from
}

func walkFiles(ctx context.Context, dir string, patterns []string, yield func(string, error) bool) {
	// WalkDir does not enter a root that is a symbolic link.
	root, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return fs.SkipAll
			}
			if err != nil || e.IsDir() {
				return err
			}
			if !matches(e.Name(), patterns) {
				return nil
			}
			if e.Type()&fs.ModeSymlink != 0 {
				if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
					return nil // a link to nowhere, or to a folder
				}
			} else if !e.Type().IsRegular() {
				return nil
			}
			below, err := filepath.Rel(root, name)
			if err == nil && !yield(filepath.Join(dir, below), nil) {
				err = fs.SkipAll
			}
			return err
		})
	}
	if _, named := errors.AsType[*fs.PathError](err); named {
		yield("", Fatal(fmt.Errorf("list files: %w", err)))
	} else if err != nil {
		yield("", Fatal(fmt.Errorf("list files: %s: %w", dir, err)))
	}
}

func matches(name string, patterns []string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok { // FromFiles has looked at the patterns
			return true
		}
	}
	return len(patterns) == 0
}
