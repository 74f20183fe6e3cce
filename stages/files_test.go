package stages

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plant makes files below a new folder; "a -> b" is a symbolic link, and what ends in a slash a folder.
func plant(t *testing.T, entries ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			if err = os.Symlink(filepath.FromSlash(target), name); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
		case strings.HasSuffix(e, "/"):
			err = os.MkdirAll(name, 0o755)
		default:
			err = os.WriteFile(name, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listed are the paths that FromFiles yields, relative to dir and with slashes, and the error that it ends with.
func listed(t *testing.T, dir string, patterns ...string) (got []string, failure error) {
	t.Helper()
	for name, err := range FromFiles(dir, patterns...).open(t.Context(), Position{}) {
		if failure != nil {
			t.Errorf("something comes behind the error: %q, %v", name, err)
		}
		if err != nil {
			failure = err
			continue
		}
		below, err := filepath.Rel(dir, name)
		if err != nil || !strings.HasPrefix(name, dir) {
			t.Errorf("%q does not lie under %q: %v", name, dir, err)
		}
		got = append(got, filepath.ToSlash(below))
	}
	return got, failure
}

func TestFromFilesYieldsWhatMatches(t *testing.T) {
	for _, c := range []struct {
		name           string
		files          []string
		patterns, want []string
	}{
		{"all of them", []string{"b.txt", "a.jpg", "c"}, nil, []string{"a.jpg", "b.txt", "c"}},
		{"nothing in an empty folder", nil, nil, nil},
		{"nothing in a folder of folders", []string{"a/b/", "c/"}, nil, nil},
		{"one pattern", []string{"b.txt", "a.jpg", "c.jpg", "jpg"}, []string{"*.jpg"}, []string{"a.jpg", "c.jpg"}},
		{"several patterns, each file once", []string{"b.txt", "a.jpg", "c.png"}, []string{"*.jpg", "*.txt", "b*"}, []string{"a.jpg", "b.txt"}},
		{"the base name, not the path", []string{"jpg/a.txt", "x/a.jpg"}, []string{"*jpg"}, []string{"x/a.jpg"}},
		{"classes and single letters", []string{"a1", "a2", "b1", "a10"}, []string{"a[1-5]", "b?"}, []string{"a1", "a2", "b1"}},
		{"no pattern that matches", []string{"a", "b"}, []string{"c"}, nil},
		{"folders do not match", []string{"a.jpg/b.txt", "c.jpg/"}, []string{"*.jpg"}, nil},
		{"nested folders in lexical order", []string{"b", "a/z", "a/b/c", "a/b/a", "c/a", "a/c"}, nil, []string{"a/b/a", "a/b/c", "a/c", "a/z", "b", "c/a"}},
		{"a folder among files by its name alone", []string{"a.txt", "a/x", "a-b", "ab"}, nil, []string{"a/x", "a-b", "a.txt", "ab"}},
		{"bytes decide, not letters", []string{"b", "B", "a", "é", "10", "9"}, nil, []string{"10", "9", "B", "a", "b", "é"}},
		{"spaces, unicode and signs", []string{"a b.jpg", " .jpg", "日本/ü ß.jpg", "a*b.jpg", "[x].jpg", ".hidden.jpg", "%41.jpg"}, []string{"*.jpg"},
			[]string{" .jpg", "%41.jpg", ".hidden.jpg", "[x].jpg", "a b.jpg", "a*b.jpg", "日本/ü ß.jpg"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := listed(t, plant(t, c.files...), c.patterns...)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestFromFilesFollowsLinksToFilesOnly(t *testing.T) {
	for _, c := range []struct {
		name        string
		files, want []string
	}{
		{"to a file", []string{"a", "b -> a"}, []string{"a", "b"}},
		{"to a file elsewhere", []string{"x/a", "b -> x/a"}, []string{"b", "x/a"}},
		{"to a link to a file", []string{"a", "b -> a", "c -> b"}, []string{"a", "b", "c"}},
		{"to a folder", []string{"x/a", "y -> x"}, []string{"x/a"}},
		{"to a folder that holds it", []string{"x/a", "x/y -> ../x"}, []string{"x/a"}},
		{"to nowhere", []string{"a", "b -> none"}, []string{"a"}},
		{"to itself", []string{"a", "b -> b"}, []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := listed(t, plant(t, c.files...))
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestFromFilesNamesFilesAsTheFolderWasNamed(t *testing.T) {
	dir := plant(t, "real/a", "real/b/c", "link -> real", "again -> link")
	t.Chdir(dir)
	want := func(names ...string) []string {
		for i := range names {
			names[i] = filepath.FromSlash(names[i])
		}
		return names
	}
	for folder, want := range map[string][]string{
		filepath.Join(dir, "link"):       {filepath.Join(dir, "link", "a"), filepath.Join(dir, "link", "b", "c")},
		filepath.Join(dir, "again"):      {filepath.Join(dir, "again", "a"), filepath.Join(dir, "again", "b", "c")},
		filepath.Join(dir, "link", "b"):  {filepath.Join(dir, "link", "b", "c")},
		"real":                           want("real/a", "real/b/c"),
		"real/":                          want("real/a", "real/b/c"),
		"./link//":                       want("link/a", "link/b/c"),
		".":                              want("real/a", "real/b/c"),
		"real/../link":                   want("link/a", "link/b/c"),
		filepath.Join(dir, "real") + "/": {filepath.Join(dir, "real", "a"), filepath.Join(dir, "real", "b", "c")},
		filepath.Dir(dir) + "/" + filepath.Base(dir) + "/real": {filepath.Join(dir, "real", "a"), filepath.Join(dir, "real", "b", "c")},
	} {
		if got := at(t.Context(), FromFiles(folder), Position{}, -1); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", folder, got, want)
		}
	}
}

func TestFromFilesOfAFileIsThatFile(t *testing.T) {
	dir := plant(t, "a.jpg")
	got, err := listed(t, filepath.Join(dir, "a.jpg"))
	if err != nil || !slices.Equal(got, []string{"."}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFromFilesGoesOnWhereItWas(t *testing.T) {
	dir := plant(t, "a", "b", "c/d", "e")
	got := at(t.Context(), FromFiles(dir), Position{Index: 2}, 1)
	if want := []string{filepath.Join(dir, "c", "d")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAFolderThatCannotBeReadIsFatal(t *testing.T) {
	dir := plant(t, "gone -> none", "a")
	for name, folder := range map[string]string{
		"none at all":       filepath.Join(dir, "none"),
		"a link to nowhere": filepath.Join(dir, "gone"),
		"below a file":      filepath.Join(dir, "a", "b"),
	} {
		got, err := listed(t, folder)
		if len(got) > 0 || !errors.Is(err, ErrFatal) || err == nil || !strings.HasPrefix(err.Error(), "list files: ") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestAFolderBelowThatCannotBeReadIsFatal(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := plant(t, "a", "locked/b", "z")
	locked := filepath.Join(dir, "locked")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(locked, 0o755) })
	got, err := listed(t, dir)
	if !slices.Equal(got, []string{"a"}) || !errors.Is(err, ErrFatal) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %q, %v", got, err)
	}
}
