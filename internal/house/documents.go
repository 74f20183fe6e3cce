package house

import (
	"fmt"
	"path"
	"regexp"
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
