package house

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
)

// checkGoroutines finds every place that starts a goroutine: a go statement, or a method called Go, as those of
// sync.WaitGroup and errgroup are. The file is listed, and the comment directly above says three things: who owns the
// goroutine, what ends it, and who waits for its end.
func checkGoroutines(t *Tree, l Lists) (found []Finding) {
	listed := open(l.Goroutines)
	for _, f := range t.Files {
		if f.Nested || f.Test {
			continue
		}
		for _, line := range goLines(t, f) {
			switch {
			case f.Dir == "stages":
				found = append(found, Finding{f.Path, line, "package stages starts a goroutine", "a definition runs nothing: start it in actors"})
				continue
			case !listed.allows(f.Path, ""):
				found = append(found, Finding{f.Path, line, "a goroutine starts in a file that is not listed",
					"let one of the files listed as Goroutines in " + ListsFile + " start it, or list this one with its reason"})
			}
			if missing := untold(commentAbove(t, f, line)); missing != "" {
				found = append(found, Finding{f.Path, line, "the comment directly above does not say " + missing,
					`write it there, like "Owner: the session. Ends when the peer closes. Close waits for it."`})
			}
		}
	}
	return append(sorted(found), listed.stale("goroutines")...)
}

// goLines are the lines of f on which a goroutine starts.
func goLines(t *Tree, f *File) []int {
	lines := map[int]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			lines[t.line(n.Pos())] = true
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
				lines[t.line(n.Pos())] = true
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(lines))
}

// commentAbove is the comment whose last line is the one before line.
func commentAbove(t *Tree, f *File, line int) string {
	for _, group := range f.AST.Comments {
		if t.line(group.End()-token.Pos(1)) == line-1 {
			return group.Text()
		}
	}
	return ""
}

// untold names the first of the three things that the comment leaves out.
func untold(comment string) string {
	for _, part := range []struct{ what, pattern string }{
		{"who owns the goroutine (owner, owned by)", `(?i)\bown(s|ed|er)?\b`},
		{"what ends it (ends, until, returns, stops)", `(?i)\b(end|ends|ended|until|return|returns|stops|exits)\b`},
		{"who waits for its end (waits, joins; nobody waits, with the reason)", `(?i)\b(wait|waits|waited|join|joins|joined)\b`},
	} {
		if !regexp.MustCompile(part.pattern).MatchString(comment) {
			return part.what
		}
	}
	return ""
}
