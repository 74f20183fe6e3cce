package house

import (
	"fmt"
	"go/ast"
	"strings"
)

// marker stands in a comment of every file whose code runs per item or per chunk.
const marker = "HOT" + " PATH"

// checkHotPath finds clock reads, formatting and logging in the files that bear the marker.
func checkHotPath(t *Tree, l Lists) (found []Finding) {
	listed := open(l.HotPath)
	for _, f := range t.Files {
		if f.Test || f.Nested || !f.marked() {
			continue
		}
		for _, decl := range f.AST.Decls {
			if _, ok := decl.(*ast.FuncDecl); !ok {
				continue // an error sentinel is built once
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				name, what := f.slow(n)
				if what == "" || listed.allows(f.Path, name) {
					return true
				}
				found = append(found, Finding{f.Path, t.line(n.Pos()), fmt.Sprintf("%s in a file marked %s %s", name, marker, what),
					fmt.Sprintf("move it off the item's way, into another file; what runs only on a failure is listed as %q in HotPath of %s", f.Path+" "+name, ListsFile)})
				return true
			})
		}
	}
	return append(sorted(found), listed.stale("hot path")...)
}

func (f *File) marked() bool {
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			if strings.Contains(c.Text, marker) {
				return true
			}
		}
	}
	return false
}

// slow names what n uses and what is slow about it, or returns "".
func (f *File) slow(n ast.Node) (name, what string) {
	if imported, sel, ok := f.qualified(n); ok {
		name = imported + "." + sel
		switch {
		case imported == "time" && (sel == "Now" || sel == "Since" || sel == "Until"):
			return name, "reads the clock"
		case imported == "fmt":
			return name, "formats"
		}
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if imported, _, ok := f.qualified(sel); ok {
		if imported == "log" || imported == "log/slog" || under(imported, "github.com/rs/zerolog") {
			return imported + "." + sel.Sel.Name, "logs"
		}
		return "", ""
	}
	if on := lastName(sel.X); strings.EqualFold(on, "log") || strings.EqualFold(on, "logger") {
		return on + "." + sel.Sel.Name, "logs"
	}
	return "", ""
}

// lastName is the name that a reader sees last in e: log of w.log.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
