package stages_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The code that the documents show is code that runs: each piece is followed by a line that names the program it is a
// part of. So is what they show of outputs.
func TestTheDocumentsShowCodeThatRuns(t *testing.T) {
	for document, least := range map[string]int{
		"../docs/stages.md": 40, "../docs/failure-handling.md": 20, "../docs/migrating.md": 4, "../docs/placement.md": 5,
		"../README.md": 2,
	} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		pieces := piecesOf(string(text))
		if len(pieces) < least {
			t.Errorf("%s shows %d pieces of code, want at least %d", document, len(pieces), least)
		}
		for _, p := range pieces {
			if fault := p.check(path.Dir(document)); fault != "" {
				t.Errorf("%s: %s:\n%s", document, fault, p.code)
			}
		}
	}
}

// Whatever makes a stream, or what a source is made of, stands in the vocabulary.
func TestTheVocabularyIsComplete(t *testing.T) {
	text, err := os.ReadFile("../docs/stages.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || !makesStreams(f) {
				continue
			}
			if found++; !regexp.MustCompile(`\b` + f.Name.Name + `\b`).Match(text) {
				t.Errorf("docs/stages.md does not mention %s", f.Name.Name)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d functions make streams, want at least 20: this test looks at the wrong ones", found)
	}
}

// makesStreams reports whether a function returns a Stream, several, or an Origin, or takes a Stream and ends it.
func makesStreams(f *ast.FuncDecl) bool {
	found := false
	look := func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && (id.Name == "Stream" || id.Name == "Origin")
		return !found
	}
	if f.Type.Results != nil {
		ast.Inspect(f.Type.Results, look)
	} else {
		ast.Inspect(f.Type.Params, look)
	}
	return found
}

// A piece is a block of Go in a document, and the line behind it.
type piece struct {
	code, named, file string
	printed           bool // it is not code, but what an example prints
}

// piecesOf leaves out whole programs, which have a test of their own, and the code of others.
func piecesOf(document string) (pieces []piece) {
	blocks := regexp.MustCompile("(?ms)^```(go|text)\n(.*?)^```\n+([^\n]*)")
	names := regexp.MustCompile(`^(?:Runs as|Printed by) \[(\w+)\]\(([^)]+)\)\.`)
	for _, m := range blocks.FindAllStringSubmatch(document, -1) {
		if strings.HasPrefix(m[2], "package main") || strings.Contains(m[2], "rill.") {
			continue
		}
		p := piece{code: m[2], printed: m[1] == "text"}
		if n := names.FindStringSubmatch(m[3]); n != nil {
			p.named, p.file = n[1], n[2]
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// check returns what is wrong with the piece.
func (p piece) check(dir string) string {
	if p.file == "" {
		return `the line behind it must say "Runs as [Example](file)."`
	}
	file := filepath.FromSlash(path.Join(dir, p.file))
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSuffix(p.code, "\n"), "\n")
	if p.printed {
		for i, line := range lines {
			lines[i] = strings.TrimRight("// "+line, " ")
		}
	}
	if !contains(strings.Split(string(text), "\n"), lines) {
		return "it is no part of " + p.file
	}
	if strings.HasSuffix(file, "_test.go") {
		if tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments); err != nil {
			return err.Error()
		} else if !hasExample(tree, p.named) {
			return "there is no " + p.named + " with an output in " + p.file
		}
	} else if tests, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*_test.go")); err != nil || len(tests) == 0 {
		return "nothing tests " + p.file
	}
	return ""
}

// contains reports whether lines has these, one below the other, all indented by the same number of tabs.
func contains(lines, these []string) bool {
	for i := range len(lines) - len(these) + 1 {
		indent := strings.TrimSuffix(lines[i], strings.TrimLeft(lines[i], "\t"))
		same := 0
		for same < len(these) && (lines[i+same] == indent+these[same] || lines[i+same] == "" && these[same] == "") {
			same++
		}
		if same == len(these) {
			return true
		}
	}
	return false
}

func hasExample(tree *ast.File, name string) bool {
	for _, e := range doc.Examples(tree) {
		if "Example"+e.Name == name && e.Output != "" {
			return true
		}
	}
	return false
}

// So that the test above can fail.
func TestACodePieceThatDoesNotRunIsFound(t *testing.T) {
	const block = "```go\nfmt.Println(1)\n```\n\n"
	for document, want := range map[string]string{
		block + "More text.\n": "must say",
		block + "Runs as [ExampleMap](../stages/gone_test.go).\n":                                    "no such file",
		block + "Runs as [ExampleMap](../stages/example_items_test.go).\n":                           "no part",
		"```go\nfunc ExampleMap() {\n```\nRuns as [ExampleGone](../stages/example_items_test.go).\n": "there is no ExampleGone",
		"```text\n1\n```\nPrinted by [ExampleMap](../stages/example_items_test.go).\n":               "",
		"```text\n9\n```\nPrinted by [ExampleMap](../stages/example_items_test.go).\n":               "no part",
		"```go\npackage stages\n```\nRuns as [map](../internal/plan/graph.go).\n":                    "no part",
		"```go\nfunc ExampleMap() {\n```\nRuns as [ExampleMap](../stages/example_items_test.go).\n":  "",
	} {
		pieces := piecesOf(document)
		if len(pieces) != 1 {
			t.Fatalf("%d pieces in %q", len(pieces), document)
		}
		if fault := pieces[0].check("../docs"); !strings.Contains(fault, want) || want == "" && fault != "" {
			t.Errorf("%q: fault %q, want %q", document, fault, want)
		}
	}
}
