package house

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// layers names every layer of the house and what stands below it. A package belongs to the layer of its parent, so
// codecs/msgpack is in codecs; each package of internal is a layer of its own.
func layers() map[string][]string {
	return map[string][]string{
		".ci":              {},
		"codecs":           {"internal/self"},
		"internal/house":   {},
		"internal/history": {}, // for tests
		"internal/model":   {},
		"internal/restart": {},
		"internal/plan":    {"codecs", "internal/payload", "internal/restart", "internal/wire"},
		"internal/self":    {},
		"internal/weak":    {},
		"internal/wire":    {"codecs"},
		"internal/payload": {"codecs", "internal/self", "internal/wire"},
		"internal/link":    {"codecs", "internal/payload", "internal/wire", "internal/restart"},
		"stages":           {"codecs", "internal/payload", "internal/plan", "internal/restart"},
		"actors":           {"codecs", "internal/payload", "internal/plan", "internal/restart", "internal/weak", "internal/wire", "stages"},
		"supervisor":       {"codecs", "internal/payload", "internal/plan", "internal/restart", "internal/wire", "internal/link", "stages", "actors"},
		// What a newcomer copies imports what a newcomer can import: nothing internal.
		"examples": {"codecs", "stages", "actors", "supervisor"},
	}
}

// checkImports holds the chain. Only an external test, package x_test, may import upward.
func checkImports(t *Tree, _ Lists) (found []Finding) {
	below, unknown := layers(), map[string]bool{}
	for _, f := range t.Files {
		if f.Nested {
			continue
		}
		layer := layerOf(f.Dir)
		allowed, known := below[layer]
		if !known && !unknown[f.Dir] {
			unknown[f.Dir] = true
			found = append(found, Finding{f.Path, 1, fmt.Sprintf("package directory %q belongs to no layer", f.Dir),
				"put it below stages, actors, supervisor, codecs or examples, or give it a row in layers() of internal/house/imports.go"})
		}
		for _, spec := range f.AST.Imports {
			_, imported := importName(spec)
			line := t.line(spec.Pos())
			if dir, ours := t.ours(imported); ours {
				target := layerOf(dir)
				switch {
				case isTestPackage(dir) && !f.Test && !f.testPackage():
					found = append(found, Finding{f.Path, line, "code that ships imports the test helpers of " + dir, "move what it needs out of the test package"})
				case !known || target == layer || f.External || slices.Contains(allowed, target):
				default:
					found = append(found, Finding{f.Path, line, fmt.Sprintf("%s imports %s, which does not stand below it", layer, dir), importAdvice(f, allowed)})
				}
				continue
			}
			if under(imported, "testing") && !f.Test && !f.testPackage() {
				found = append(found, Finding{f.Path, line, "code that ships imports " + imported, "keep it to _test.go files and to packages whose name ends in test"})
			}
		}
	}
	return sorted(found)
}

// checkOutside keeps package stages and what lies below it from seeing where it runs.
func checkOutside(t *Tree, l Lists) (found []Finding) {
	listed := open(l.Outside)
	for _, f := range t.Files {
		if f.Nested || f.Test || !under(f.Dir, "stages") {
			continue
		}
		for _, spec := range f.AST.Imports {
			_, imported := importName(spec)
			if outside(imported) && !listed.allows(f.Path, imported) {
				found = append(found, Finding{f.Path, t.line(spec.Pos()), "stages imports " + imported,
					"a definition has no I/O: do it where the stage is opened, in a file listed as Outside in " + ListsFile})
			}
		}
	}
	return append(sorted(found), listed.stale("outside world")...)
}

// outside reports whether a package of the standard library reaches beyond the process's memory.
func outside(imported string) bool {
	for _, p := range []string{"os", "net", "syscall", "plugin", "io/fs", "io/ioutil", "path/filepath"} {
		if under(imported, p) {
			return true
		}
	}
	return false
}

func importAdvice(f *File, allowed []string) string {
	if f.Test {
		return "move the test to an external package, " + f.AST.Name.Name + "_test"
	}
	if len(allowed) == 0 {
		return "it may import nothing else of ours: move the code to the layer that has what it needs"
	}
	return "it may import " + strings.Join(allowed, ", ") + ": move the code up, or hand it in as an interface"
}

func layerOf(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// isTestPackage reports whether dir is a package of test helpers, such as stages/stagetest.
func isTestPackage(dir string) bool {
	base := path.Base(dir)
	return base != "test" && strings.HasSuffix(base, "test")
}
