package house

import (
	"fmt"
	"go/ast"
)

const (
	maxLines     = 400
	maxTestLines = 600
)

// checkLength keeps a file to one idea. Generated files are as long as their generator makes them.
func checkLength(t *Tree, _ Lists) (found []Finding) {
	for _, f := range t.Files {
		limit := maxLines
		if f.Test {
			limit = maxTestLines
		}
		if n := f.lines(); n >= limit && !ast.IsGenerated(f.AST) {
			found = append(found, Finding{f.Path, n, fmt.Sprintf("%d lines, and a file like this stays under %d", n, limit),
				"find the second idea in it and give it a file; if there is none, delete"})
		}
	}
	return found
}
