package house

import (
	"fmt"
	"go/ast"
	"go/token"
)

// checkSleep finds time.Sleep where time is real. In a bubble, textually inside the function handed to synctest.Test,
// a sleep costs nothing and is exact. Elsewhere it is either too short, and the test fails on a slow machine, or too
// long for everybody. The library itself waits for events; only examples, which imitate work, may sleep, and the
// benchmarks module, which measures real time.
func checkSleep(t *Tree, l Lists) (found []Finding) {
	listed := open(l.Sleeps)
	for _, f := range t.Files {
		if f.Nested || !f.Test && under(f.Dir, "examples") {
			continue
		}
		for _, decl := range f.AST.Decls {
			name := ""
			if fn, ok := decl.(*ast.FuncDecl); ok {
				name = fn.Name.Name
			}
			for _, pos := range f.realSleeps(decl) {
				if listed.allows(f.Path, name) || listed.allows(f.Path, "") {
					continue
				}
				do := fmt.Sprintf("run the test inside synctest.Test, or wait for the event itself; a helper that runs only in bubbles is listed as %q in Sleeps of %s", f.Path+" "+name, ListsFile)
				if !f.Test {
					do = "wait for the event itself, or for a timer next to ctx.Done()"
				}
				found = append(found, Finding{f.Path, t.line(pos), "time.Sleep outside a synctest bubble", do})
			}
		}
	}
	return append(sorted(found), listed.stale("sleep")...)
}

// realSleeps are the mentions of time.Sleep below n that no bubble surrounds.
func (f *File) realSleeps(n ast.Node) (found []token.Pos) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if imported, name, ok := f.qualified(n.Fun); ok && imported == "testing/synctest" && name == "Test" {
				return false
			}
		case *ast.SelectorExpr:
			if imported, name, ok := f.qualified(n); ok && imported == "time" && name == "Sleep" {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}
