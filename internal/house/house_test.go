package house_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weirflow/weir/internal/house"
)

// TestHouse holds this repository to its rules.
func TestHouse(t *testing.T) {
	tree, err := house.Load(os.DirFS(root(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) == 0 {
		t.Fatal("the tree holds no Go file: the rules looked at nothing")
	}
	for _, rule := range house.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, f := range rule.Check(tree, lists()) {
				t.Errorf("%s\n\tthe rule: %s", f, rule.Law)
			}
		})
	}
}

// root is the directory above this one that holds the go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// A tree is a small repository, and the findings of one rule on it in order: "file:line: what", each the beginning of
// the text. None means that it keeps the rule.
type tree struct {
	name  string
	files map[string]string
	lists house.Lists
	want  []string
}

// check runs one rule over its trees, some of which must break it and some keep it.
func check(t *testing.T, name string, trees []tree) {
	t.Helper()
	i := slices.IndexFunc(house.Rules(), func(r house.Rule) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no rule is called %q", name)
	}
	broken := 0
	for _, tc := range trees {
		t.Run(tc.name, func(t *testing.T) {
			found := house.Rules()[i].Check(load(t, tc.files), tc.lists)
			for k := range max(len(found), len(tc.want)) {
				switch {
				case k >= len(found):
					t.Errorf("not found: %s", tc.want[k])
				case k >= len(tc.want):
					t.Errorf("found, but the tree keeps the rule: %s", found[k])
				case !strings.HasPrefix(found[k].String(), tc.want[k]):
					t.Errorf("found %s\nwant  %s", found[k], tc.want[k])
				case found[k].Do == "":
					t.Errorf("%s does not say what to do", found[k])
				}
			}
		})
		if len(tc.want) > 0 {
			broken++
		}
	}
	if broken == 0 || broken == len(trees) {
		t.Errorf("rule %q needs trees that break it and trees that keep it", name)
	}
}

func load(t *testing.T, files map[string]string) *house.Tree {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module weir.test/weir\n\ngo 1.26\n")}}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := house.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// rules is every rule with the trees that break it and those that keep it.
func rules() map[string][]tree {
	all := map[string][]tree{}
	for _, group := range []map[string][]tree{importTrees(), surfaceTrees(), stateTrees(), timeTrees(), textTrees()} {
		for name, trees := range group {
			all[name] = append(all[name], trees...)
		}
	}
	return all
}

// TestRules shows that every rule can fail, and does not fail on what only looks like a breach.
func TestRules(t *testing.T) {
	tested := rules()
	for _, rule := range house.Rules() {
		t.Run(rule.Name, func(t *testing.T) { check(t, rule.Name, tested[rule.Name]) })
		delete(tested, rule.Name)
	}
	for name := range tested {
		t.Errorf("trees for %q, which is no rule", name)
	}
}

func TestLoad(t *testing.T) {
	t.Run("skips what the go command skips", func(t *testing.T) {
		tree := load(t, map[string]string{
			"stages/map.go":          "package stages\n",
			"stages/testdata/bad.go": "no go at all",
			"_drafts/bad.go":         "no go at all",
			".git/bad.go":            "no go at all",
			"vendor/x/bad.go":        "no go at all",
			".ci/tool/main.go":       "package main\n",
		})
		var got []string
		for _, f := range tree.Files {
			got = append(got, f.Path)
		}
		if want := []string{".ci/tool/main.go", "stages/map.go"}; !slices.Equal(got, want) {
			t.Errorf("loaded %q, want %q", got, want)
		}
	})
	t.Run("knows a nested module", func(t *testing.T) {
		tree := load(t, map[string]string{
			"benchmarks/go.mod":      "module weir.test/weir/benchmarks\n",
			"benchmarks/peer/run.go": "package peer\n",
			"benchmarks.go":          "package weir\n",
		})
		for _, f := range tree.Files {
			if want := strings.HasPrefix(f.Path, "benchmarks/"); f.Nested != want {
				t.Errorf("%s: nested is %v, want %v", f.Path, f.Nested, want)
			}
		}
	})
	t.Run("names a file that does not parse", func(t *testing.T) {
		_, err := house.Load(fstest.MapFS{
			"go.mod":        {Data: []byte("module weir.test/weir\n")},
			"stages/map.go": {Data: []byte("package stages\nfunc {\n")},
		})
		if err == nil || !strings.Contains(err.Error(), "stages/map.go:2") {
			t.Errorf("error %v does not name stages/map.go:2", err)
		}
	})
	t.Run("wants a go.mod that names a module", func(t *testing.T) {
		for _, fsys := range []fstest.MapFS{{}, {"go.mod": {Data: []byte("go 1.26\n")}}} {
			if _, err := house.Load(fsys); err == nil {
				t.Errorf("loaded %v", fsys)
			}
		}
	})
}
