package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// checkUnfinished finds the words that promise to finish later.
func checkUnfinished(t *Tree, _ Lists) (found []Finding) {
	words := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	for _, f := range t.Files {
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				if word := words.FindString(c.Text); word != "" {
					found = append(found, Finding{f.Path, t.line(c.Pos()), word + " in a comment", "do it, open an issue, or state the limit as a fact"})
				}
			}
		}
	}
	return sorted(found)
}

// checkDocComments wants a comment on whatever is exported, and one on each package that opens with its name.
func checkDocComments(t *Tree, _ Lists) (found []Finding) {
	documented, first := map[string]bool{}, map[string]*File{}
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		if first[f.Dir] == nil {
			first[f.Dir] = f
		}
		if doc := f.AST.Doc; doc != nil {
			if want := packageOpening(f); !strings.HasPrefix(doc.Text(), want) {
				found = append(found, Finding{f.Path, t.line(doc.Pos()), fmt.Sprintf("the package comment does not begin with %q", want), "begin it so"})
			}
			documented[f.Dir] = true
		}
		if f.Nested {
			continue
		}
		for _, decl := range f.AST.Decls {
			for _, bare := range undocumented(decl) {
				found = append(found, Finding{f.Path, t.line(bare.Pos()), "exported " + bare.Name + " has no doc comment",
					"say what the caller must know: unit, zero value, what blocks, which errors; or unexport it"})
			}
		}
	}
	for dir, f := range first {
		if !documented[dir] {
			found = append(found, Finding{f.Path, t.line(f.AST.Package), "package in " + dir + " has no package comment", fmt.Sprintf("write one that begins with %q, in doc.go when it is long", packageOpening(f))})
		}
	}
	return sorted(found)
}

func packageOpening(f *File) string {
	if f.AST.Name.Name == "main" {
		return "Command " + path.Base(f.Dir) + " "
	}
	return "Package " + f.AST.Name.Name + " "
}

// undocumented are the exported names of a declaration that no comment covers. The comment of a group covers its
// members, as godoc shows it.
func undocumented(decl ast.Decl) (bare []*ast.Ident) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if exportedFunc(d) && d.Doc == nil && !wellKnown(d) {
			bare = append(bare, d.Name)
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT || d.Doc != nil {
			return nil
		}
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && spec.Doc == nil && spec.Comment == nil {
					bare = append(bare, spec.Name)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if name.IsExported() && spec.Doc == nil && spec.Comment == nil {
						bare = append(bare, name)
					}
				}
			}
		}
	}
	return bare
}

// wellKnown reports whether d is a method whose meaning its standard interface gives.
func wellKnown(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	switch d.Name.Name {
	case "Error", "Unwrap", "Is", "As", "String", "GoString", "Len", "Less", "Swap":
		return true
	}
	return false
}
