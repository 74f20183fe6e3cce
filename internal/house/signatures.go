package house

import (
	"fmt"
	"go/ast"
	"strings"
)

// checkBools finds parameters of type bool in what stages and supervisor export: a reader of f(true) learns nothing.
func checkBools(t *Tree, _ Lists) (found []Finding) {
	for _, f := range t.Files {
		if f.Nested || f.Test || !under(f.Dir, "stages") && !under(f.Dir, "supervisor") {
			continue
		}
		eachSignature(f, func(name string, fn *ast.FuncType, exported bool) {
			for _, p := range fn.Params.List {
				if exported && isBool(p.Type) {
					found = append(found, Finding{f.Path, t.line(p.Pos()), "exported " + name + " takes a bool", "make it a typed option, or two functions"})
				}
			}
		})
	}
	return sorted(found)
}

// checkConfigs finds maps with string keys in types that are called Config, or end in it.
func checkConfigs(t *Tree, _ Lists) (found []Finding) {
	for _, f := range t.Files {
		if f.Nested || f.Test {
			continue
		}
		for _, decl := range f.AST.Decls {
			eachType(decl, func(spec *ast.TypeSpec) {
				name := spec.Name.Name
				if !strings.HasSuffix(strings.ToLower(name), "config") {
					return
				}
				ast.Inspect(spec.Type, func(n ast.Node) bool {
					if m, ok := n.(*ast.MapType); ok && lastName(m.Key) == "string" {
						found = append(found, Finding{f.Path, t.line(m.Pos()), name + " holds a map of strings", "name each setting as a field, so that the compiler and the documentation know it"})
					}
					return true
				})
			})
		}
	}
	return sorted(found)
}

// checkContext keeps context.Context in front. Function types are free: a user's method expression has its receiver
// before the context. Test helpers take their testing.TB first. A type that embeds a context is one, and stores none.
func checkContext(t *Tree, _ Lists) (found []Finding) {
	for _, f := range t.Files {
		if f.Nested {
			continue
		}
		isContext := func(e ast.Expr) bool { return f.isPackageName(e, "context", "Context") }
		eachSignature(f, func(name string, fn *ast.FuncType, _ bool) {
			first := true // still, after what may stand before a context
			for _, p := range fn.Params.List {
				if isContext(p.Type) && !first {
					found = append(found, Finding{f.Path, t.line(p.Pos()), name + " does not take its context first", "make it the first parameter"})
				}
				first = first && f.isTesting(p.Type)
			}
		})
		ast.Inspect(f.AST, func(n ast.Node) bool {
			st, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range st.Fields.List {
				if isContext(field.Type) && len(field.Names) > 0 && field.Doc == nil && field.Comment == nil {
					found = append(found, Finding{f.Path, t.line(field.Pos()), "a stored context without a comment",
						"pass it as a parameter; an incarnation's own may stay, with a comment that says whose life it is"})
				}
			}
			return true
		})
	}
	return sorted(found)
}

// eachSignature visits the functions and methods of f, and the methods of its interfaces.
func eachSignature(f *File, visit func(name string, fn *ast.FuncType, exported bool)) {
	for _, decl := range f.AST.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok {
			visit(funcName(d), d.Type, exportedFunc(d))
		}
		eachType(decl, func(spec *ast.TypeSpec) {
			iface, ok := spec.Type.(*ast.InterfaceType)
			if !ok {
				return
			}
			for _, m := range iface.Methods.List {
				if fn, ok := m.Type.(*ast.FuncType); ok && len(m.Names) == 1 {
					visit(fmt.Sprintf("%s.%s", spec.Name.Name, m.Names[0].Name), fn, spec.Name.IsExported() && m.Names[0].IsExported())
				}
			}
		})
	}
}

// isTesting reports whether e is testing.TB or one of *testing.T, B, F.
func (f *File) isTesting(e ast.Expr) bool {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	imported, _, ok := f.qualified(e)
	return ok && imported == "testing"
}

func isBool(e ast.Expr) bool {
	if rest, ok := e.(*ast.Ellipsis); ok {
		e = rest.Elt
	}
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "bool"
}
