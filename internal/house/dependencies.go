package house

import (
	"fmt"
	"strings"
)

// A dependency is a foreign module and the directories, with all below them, that may import it.
type dependency struct {
	module string
	in     []string
	why    string
}

func dependencies() []dependency {
	return []dependency{
		{"github.com/asynkron/protoactor-go", []string{"actors"}, "the runtime hides its actors"},
		{"google.golang.org/grpc", []string{"internal/link", "internal/wire", "supervisor"}, "the transport is the link's"},
		{"github.com/vmihailenco/msgpack/v5", []string{"codecs/msgpack"}, "a format is one codec among others"},
		{"go.yaml.in/yaml/v3", []string{"supervisor"}, "a placement may be a file"},
		{"github.com/rs/zerolog", []string{"supervisor", "examples"}, "the library emits events, a logger is a listener; actors takes a *slog.Logger"},
		{"golang.org/x/sys", []string{"stages/deadletter", "internal/link"}, "locks of files, child processes and shared memory are the system's, and syscall has only a part of that"},
		{"golang.org/x/image", []string{"examples"}, "the library does not know what an image is"},
		{"golang.org/x/term", []string{"examples"}, "only a program has a terminal"},
		{"github.com/schollz/progressbar/v3", []string{"examples"}, "the library draws nothing: it has Stats"},
		{"github.com/jedib0t/go-pretty/v6", []string{"examples"}, "the library draws nothing: it has Stats"},
	}
}

// checkDependencies keeps every foreign module at its place; a module without a row has no place yet.
func checkDependencies(t *Tree, _ Lists) (found []Finding) {
	for _, f := range t.Files {
		if f.Nested {
			continue // the benchmarks import the peers they compare with
		}
		for _, spec := range f.AST.Imports {
			_, imported := importName(spec)
			if _, ours := t.ours(imported); ours || !foreign(imported) {
				continue
			}
			dep, known := dependencyOf(imported)
			switch {
			case !known:
				found = append(found, Finding{f.Path, t.line(spec.Pos()), imported + " is a dependency without a place",
					"do without it, or write a decision record and give it a row in dependencies() of internal/house/dependencies.go"})
			case !dep.allowedIn(f.Dir):
				found = append(found, Finding{f.Path, t.line(spec.Pos()), fmt.Sprintf("%s is imported by %s", imported, f.Dir),
					fmt.Sprintf("only %s may import it (%s)", strings.Join(dep.in, ", "), dep.why)})
			}
		}
	}
	return sorted(found)
}

func (d dependency) allowedIn(dir string) bool {
	for _, place := range d.in {
		if under(dir, place) {
			return true
		}
	}
	return false
}

func dependencyOf(imported string) (dependency, bool) {
	for _, d := range dependencies() {
		if under(imported, d.module) {
			return d, true
		}
	}
	return dependency{}, false
}

// foreign reports whether an import path lies outside the standard library: its first element has a dot.
func foreign(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return strings.Contains(first, ".")
}
