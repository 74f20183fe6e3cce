package house

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// A Tree is the parsed source of one repository. It is immutable after Load.
type Tree struct {
	Module string  // the root module's path
	Files  []*File // every Go file, nested modules included, sorted by path
	Docs   []*Doc  // every Markdown file, sorted by path

	fset  *token.FileSet
	paths map[string]bool // every file of the tree, by path
}

// A File is one parsed Go file.
type File struct {
	Path     string // slash-separated, relative to the root
	Dir      string // the package's directory: "stages", "codecs/msgpack", "."
	Src      []byte
	AST      *ast.File
	Test     bool // its name ends in _test.go
	External bool // a test file of package x_test
	Nested   bool // it belongs to a nested module, such as benchmarks

	imports map[string]string // local name -> import path
}

// A Doc is one Markdown file.
type Doc struct {
	Path string
	Text string
}

// Load reads and parses the tree below fsys, whose root holds the go.mod of the repository.
//
// It skips testdata, vendor, and directories whose name starts with "." or "_" as the go command does; .ci is the one
// such directory that it reads.
func Load(fsys fs.FS) (*Tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("house: the root of the tree holds no go.mod: %w", err)
	}
	t := &Tree{Module: modulePath(mod), fset: token.NewFileSet(), paths: map[string]bool{}}
	if t.Module == "" {
		return nil, errors.New("house: go.mod names no module")
	}
	var nested []string
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipped(d.Name()) && p != "." {
				return fs.SkipDir
			}
			if _, err := fs.Stat(fsys, path.Join(p, "go.mod")); err == nil && p != "." {
				nested = append(nested, p)
			}
			return nil
		}
		t.paths[p] = true
		switch path.Ext(p) {
		case ".go":
			return t.addGo(fsys, p, nested)
		case ".md":
			text, err := fs.ReadFile(fsys, p)
			t.Docs = append(t.Docs, &Doc{Path: p, Text: string(text)})
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("house: %w", err)
	}
	return t, nil
}

func (t *Tree) addGo(fsys fs.FS, p string, nested []string) error {
	src, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &File{Path: p, Dir: path.Dir(p), Src: src, AST: parsed, imports: map[string]string{}}
	f.Test = strings.HasSuffix(p, "_test.go")
	f.External = f.Test && strings.HasSuffix(parsed.Name.Name, "_test")
	for _, dir := range nested {
		f.Nested = f.Nested || under(f.Dir, dir)
	}
	for _, spec := range parsed.Imports {
		name, imported := importName(spec)
		f.imports[name] = imported
	}
	t.Files = append(t.Files, f)
	return nil
}

// line is the line of pos in its file.
func (t *Tree) line(pos token.Pos) int { return t.fset.Position(pos).Line }

// lines counts the lines of the file.
func (f *File) lines() int {
	n := bytes.Count(f.Src, []byte("\n"))
	if len(f.Src) > 0 && f.Src[len(f.Src)-1] != '\n' {
		n++
	}
	return n
}

// testPackage reports whether the file belongs to a package of test helpers, such as stagetest.
func (f *File) testPackage() bool {
	return !f.Test && f.AST.Name.Name != "test" && strings.HasSuffix(f.AST.Name.Name, "test")
}

// qualified resolves pkg.Name, where pkg is imported by the file, to the import path and the name.
func (f *File) qualified(n ast.Node) (imported, name string, ok bool) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", "", false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", "", false
	}
	imported, ok = f.imports[id.Name]
	return imported, sel.Sel.Name, ok
}

// isPackageName reports whether e is the type pkg.name, pkg given by its import path.
func (f *File) isPackageName(e ast.Expr, imported, name string) bool {
	p, n, ok := f.qualified(e)
	return ok && p == imported && n == name
}

// ours cuts the module's path from an import path: the directory of a package of ours.
func (t *Tree) ours(imported string) (dir string, ok bool) {
	if imported == t.Module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.Module+"/")
}

// under reports whether dir is parent, or lies below it.
func under(dir, parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }

func skipped(name string) bool {
	return name == "testdata" || name == "vendor" || name != ".ci" && strings.IndexAny(name, "._") == 0
}

func modulePath(mod []byte) string {
	for line := range strings.Lines(string(mod)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "module" {
			return fields[1]
		}
	}
	return ""
}

// importName guesses the local name as readers do: the alias, or the last element that is no version.
func importName(spec *ast.ImportSpec) (name, imported string) {
	imported, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return "", ""
	}
	if spec.Name != nil {
		return spec.Name.Name, imported
	}
	name = path.Base(imported)
	if dir := path.Dir(imported); len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" && dir != "." {
		name = path.Base(dir)
	}
	return strings.TrimPrefix(name, "go-"), imported
}
