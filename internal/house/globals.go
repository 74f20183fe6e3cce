package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// checkGlobals finds what happens before main, and what two tests in one process would share.
//
// A package variable is allowed when nothing changes it: an assertion (var _ I = T{}), an error sentinel, a file that
// was embedded, a pipeline (stages.Define) in examples. Tables that the compiler builds are listed. Test files may have
// variables; they may not have init or imports for side effects.
func checkGlobals(t *Tree, l Lists) (found []Finding) {
	listed := open(l.Globals)
	for _, f := range t.Files {
		for _, decl := range f.AST.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, Finding{f.Path, t.line(fn.Pos()), "func init runs behind the reader's back", "build the value where it is needed, or in a constructor"})
			}
		}
		if f.Nested {
			continue
		}
		for _, spec := range f.AST.Imports {
			if sideEffect(f, spec) {
				_, imported := importName(spec)
				found = append(found, Finding{f.Path, t.line(spec.Pos()), "import of " + imported + " for its side effects",
					"only programs choose side effects: leave it to main packages and examples"})
			}
		}
		if f.Test {
			continue
		}
		for _, decl := range f.AST.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if f.constant(t, d, v, i) || listed.allows(f.Path, name.Name) {
						continue
					}
					found = append(found, Finding{f.Path, t.line(name.Pos()), fmt.Sprintf("package variable %s can change", name.Name),
						fmt.Sprintf("make it a field, a function or a constant; a table that nothing writes is listed as %q in Globals of %s", f.Path+" "+name.Name, ListsFile)})
				}
			}
		}
	}
	return append(sorted(found), listed.stale("globals")...)
}

func sideEffect(f *File, spec *ast.ImportSpec) bool {
	_, imported := importName(spec)
	blank := spec.Name != nil && spec.Name.Name == "_"
	// go:embed is a directive that only asks for the import.
	return blank && imported != "embed" && f.AST.Name.Name != "main" && !under(f.Dir, "examples")
}

// constant reports whether the i-th name of v holds a value that nothing is meant to change.
func (f *File) constant(t *Tree, d *ast.GenDecl, v *ast.ValueSpec, i int) bool {
	if v.Names[i].Name == "_" || embedded(d.Doc) || embedded(v.Doc) {
		return true
	}
	if len(v.Values) != len(v.Names) {
		return false
	}
	call, ok := v.Values[i].(*ast.CallExpr)
	if !ok {
		return false
	}
	imported, name, ok := f.qualified(call.Fun)
	if !ok {
		return false
	}
	switch imported + "." + name {
	case "errors.New", "fmt.Errorf":
		return true
	case t.Module + "/stages.Define":
		return under(f.Dir, "examples")
	}
	return false
}

func embedded(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}
