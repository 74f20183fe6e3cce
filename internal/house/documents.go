package house

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// checkDocPaths looks up every path of a Go file of ours that a document mentions.
func checkDocPaths(t *Tree, _ Lists) (found []Finding) {
	ours := regexp.MustCompile(`(?:^|[^\w/.-])(?:\.{1,2}/)*((?:stages|actors|supervisor|codecs|internal|examples|benchmarks)/[\w./-]*\w\.go)\b`)
	for _, doc := range t.Docs {
		if !under(doc.Path, "docs") && doc.Path != "README.md" && doc.Path != "CONTRIBUTING.md" {
			continue
		}
		for i, line := range strings.Split(doc.Text, "\n") {
			for _, m := range ours.FindAllStringSubmatch(line, -1) {
				if !t.paths[path.Clean(m[1])] {
					found = append(found, Finding{doc.Path, i + 1, fmt.Sprintf("there is no file %s", m[1]), "name the file that took its place, or take the sentence out"})
				}
			}
		}
	}
	return found
}

// checkDecisions keeps the decision records, docs/decisions/NNNN-title.md, in one form.
func checkDecisions(t *Tree, _ Lists) (found []Finding) {
	name := regexp.MustCompile(`^(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md$`)
	numbers := map[string]string{}
	for _, doc := range t.Docs {
		if path.Dir(doc.Path) != "docs/decisions" || path.Base(doc.Path) == "README.md" {
			continue
		}
		m := name.FindStringSubmatch(path.Base(doc.Path))
		if m == nil {
			found = append(found, Finding{doc.Path, 0, "not the name of a decision record", "call it NNNN-title.md, the title in lower case with hyphens"})
			continue
		}
		if other := numbers[m[1]]; other != "" {
			found = append(found, Finding{doc.Path, 0, fmt.Sprintf("number %s belongs to %s", m[1], other), "take the next free number"})
		}
		numbers[m[1]] = doc.Path
		for _, section := range []string{"Context", "Choice", "Cost"} {
			if !regexp.MustCompile(`(?m)^#{1,6} ` + section + `\s*$`).MatchString(doc.Text) {
				found = append(found, Finding{doc.Path, 0, fmt.Sprintf("no section %q", section), fmt.Sprintf("add the heading \"## %s\" and what belongs there", section)})
			}
		}
	}
	return found
}

// promises is the document that says what is promised, and by which tests it is shown.
const promises = "docs/promises.md"

// checkPromises looks up the tests that the promises name, and the rows of faults for which there are tests: those of which
// the names begin with TestF and the row's number.
func checkPromises(t *Tree, _ Lists) (found []Finding) {
	i := slices.IndexFunc(t.Docs, func(d *Doc) bool { return d.Path == promises })
	if i < 0 {
		return nil
	}
	tests := t.tests()
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`)
	linked := regexp.MustCompile(`\[((?:Test|Fuzz)[A-Z]\w*)\]\(([^)#]+)\)`)
	row := regexp.MustCompile(`^\| (F\d\d) \|`)
	inRow := map[string]string{} // of a test, its last row
	for i, line := range strings.Split(t.Docs[i].Text, "\n") {
		fault := func(do, what string, args ...any) {
			found = append(found, Finding{promises, i + 1, fmt.Sprintf(what, args...), do})
		}
		files := map[string]string{}
		for _, m := range linked.FindAllStringSubmatch(line, -1) {
			files[m[1]] = path.Join(path.Dir(promises), m[2])
		}
		for _, name := range named.FindAllString(line, -1) {
			switch at := tests[name]; {
			case at == nil:
				fault("name the test that took its place, or take the promise back", "there is no test %s", name)
			case files[name] == "":
				fault("write [name](../path)", "%s is no link", name)
			case !slices.ContainsFunc(at, func(f Finding) bool { return f.File == files[name] }):
				fault("link the file that it is in", "%s is not in %s", name, files[name])
			}
			if m := row.FindStringSubmatch(line); m != nil {
				inRow[name] = m[1]
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if m := regexp.MustCompile(`^Test(F\d\d)`).FindStringSubmatch(name); m != nil && inRow[name] != m[1] {
			at := tests[name][0]
			at.What, at.Do = fmt.Sprintf("%s is not in row %s of %s", name, m[1], promises), "name it there, or give it another name"
			found = append(found, at)
		}
	}
	return found
}

// tests returns where each test and fuzz target is, by name: in one package or several.
func (t *Tree) tests() map[string][]Finding {
	at := map[string][]Finding{}
	for _, f := range t.Files {
		if !f.Test {
			continue
		}
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && (strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz")) {
				at[fn.Name.Name] = append(at[fn.Name.Name], Finding{File: f.Path, Line: t.line(fn.Pos())})
			}
		}
	}
	return at
}
