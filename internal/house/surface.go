package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// publicLayers are the packages that users import.
func publicLayers() []string { return []string{"actors", "stages", "supervisor", "codecs"} }

// checkSurface finds foreign types in what the public packages export: functions, methods of exported types, types
// with their exported and embedded fields, interface methods, constants and variables. It follows the package's own
// unexported types, because an alias would hide the foreign one.
func checkSurface(t *Tree, l Lists) (found []Finding) {
	listed := open(l.Surface)
	for _, layer := range publicLayers() {
		for dir, files := range packages(t, layer) {
			s := &surface{t: t, types: map[string]localType{}, report: func(f *File, pos token.Pos, owner, imported string) {
				if !listed.allows(dir, imported) {
					found = append(found, Finding{f.Path, t.line(pos), fmt.Sprintf("exported %s mentions %s", owner, imported),
						"hide it behind a type of ours; users must not meet what we run on"})
				}
			}}
			s.check(files)
		}
	}
	return append(sorted(found), listed.stale("exported signatures")...)
}

// packages groups the shipping files of one layer by directory.
func packages(t *Tree, layer string) map[string][]*File {
	groups := map[string][]*File{}
	for _, f := range t.Files {
		if !f.Nested && !f.Test && under(f.Dir, layer) {
			groups[f.Dir] = append(groups[f.Dir], f)
		}
	}
	return groups
}

// A surface walks what one package exports.
type surface struct {
	t      *Tree
	types  map[string]localType // the package's own types, by name
	report func(f *File, pos token.Pos, owner, imported string)
}

type localType struct {
	file *File
	expr ast.Expr
}

func (s *surface) check(files []*File) {
	for _, f := range files {
		for _, decl := range f.AST.Decls {
			eachType(decl, func(spec *ast.TypeSpec) { s.types[spec.Name.Name] = localType{f, spec.Type} })
		}
	}
	for _, f := range files {
		for _, decl := range f.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if exportedFunc(d) {
					s.walk(f, funcName(d), d.Type, nil)
				}
			case *ast.GenDecl:
				s.checkSpecs(f, d)
			}
		}
	}
}

func (s *surface) checkSpecs(f *File, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				if spec.TypeParams != nil {
					s.walk(f, spec.Name.Name, spec.TypeParams, nil)
				}
				s.walk(f, spec.Name.Name, spec.Type, nil)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if !name.IsExported() {
					continue
				}
				if spec.Type != nil {
					s.walk(f, name.Name, spec.Type, nil)
					continue
				}
				for _, v := range spec.Values {
					s.walk(f, name.Name, v, nil)
				}
			}
		}
	}
}

// walk reports the foreign packages that n mentions; seen holds the local types on the way here.
func (s *surface) walk(f *File, owner string, n ast.Node, seen []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			s.walk(f, owner, n.Type, seen)
			return false // a body is no signature
		case *ast.Field:
			s.walk(f, owner, n.Type, seen) // a parameter's name is no type
			return false
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if exportedField(field) {
					s.walk(f, owner, field.Type, seen)
				}
			}
			return false
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				if len(m.Names) == 0 || m.Names[0].IsExported() {
					s.walk(f, owner, m.Type, seen)
				}
			}
			return false
		case *ast.SelectorExpr:
			if imported, _, ok := f.qualified(n); ok {
				if _, ours := s.t.ours(imported); !ours && foreign(imported) {
					s.report(f, n.Pos(), owner, imported)
				}
				return false
			}
		case *ast.Ident:
			local, ok := s.types[n.Name]
			if !ok || n.IsExported() {
				return true // an exported type is looked at on its own
			}
			if slices.Contains(seen, n.Name) {
				return true
			}
			s.walk(local.file, owner, local.expr, append(seen[:len(seen):len(seen)], n.Name))
		}
		return true
	})
}

// exportedField reports whether users see the field: it has an exported name, or it is embedded and promotes.
func exportedField(field *ast.Field) bool {
	for _, name := range field.Names {
		if name.IsExported() {
			return true
		}
	}
	return len(field.Names) == 0
}

// exportedFunc reports whether d is an exported function, or an exported method of an exported type.
func exportedFunc(d *ast.FuncDecl) bool {
	return d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d)))
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func funcName(d *ast.FuncDecl) string {
	if r := receiver(d); r != "" {
		return r + "." + d.Name.Name
	}
	return d.Name.Name
}

func eachType(decl ast.Decl, visit func(*ast.TypeSpec)) {
	if d, ok := decl.(*ast.GenDecl); ok {
		for _, spec := range d.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok {
				visit(spec)
			}
		}
	}
}
