package stages_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages"
)

// The lines of a Mermaid chart, and of a DOT file: a label is only quoted where it begins and where it ends.
const (
	mermaidLabel = `"(?:#[0-9]+;|<br/>|[^"#<>&{}\\%;:` + "`" + `*_])*"`
	mermaidLine  = `^(?:flowchart LR|  (?:s\d+|out)(?:\[LABEL\]|\(\[LABEL\]\)|\{LABEL\}|\{\{LABEL\}\}|\[\(LABEL\)\]|\(\(LABEL\)\))|  s\d+ -->\|LABEL\| (?:s\d+|out))$`
	dotLine      = `^(?:digraph LABEL \{|  rankdir=LR|  node \[shape=box\]|  (?:s\d+|out) \[label=LABEL(?:, shape=[a-z]+)?\]|  s\d+ -> (?:s\d+|out) \[label=LABEL\]|\})$`
	dotLabel     = `"(?:[^"\\&]|\\["\\n]|&amp;)*"`
)

// branched has a stage of each shape, with odd names.
func branched(name string) stages.Pipeline[int] {
	return define(name, func(g *stages.Graph) stages.Stream[int] {
		kind := stages.Kind[int, int]{Name: name, Open: func(context.Context) (stages.Worker[int, int], error) { return nil, nil }}
		a, b := stages.Tee(stages.Attach(numbers(g, "1"+name), "2"+name, kind), name+"3")
		c, d := stages.Tee(a, name)
		stages.Sink(d, name+"4", func(context.Context, int) error { return nil })
		return stages.Merge("5"+name+"6", stages.InputOrder{}, b, c)
	})
}

func FuzzAnyNameIsDrawn(f *testing.F) {
	for _, name := range []string{
		"plain", `"`, `\`, `a"b\"c\\`, "a\nb\r\tc", "<b>", "&quot;", "#35;", "end", "%%{init: {}}%%", "-->", "]", "|x|", "`md`", "**b**", "1. one", "- one", "style a:#f00;",
		"\x00\xff", "日本語", "🦆", "a\u202eb", " lead", "trail ", `\N\G\l`, "// x", "graph", strings.Repeat("long ", 100),
	} {
		f.Add(name)
	}
	mermaid := regexp.MustCompile(strings.ReplaceAll(mermaidLine, "LABEL", mermaidLabel))
	dot := regexp.MustCompile(strings.ReplaceAll(dotLine, "LABEL", dotLabel))
	plain := branched("n")
	f.Fuzz(func(t *testing.T, name string) {
		p := branched(name)
		if name == "" {
			t.Skip() // refused
		}
		if err := p.Err(); err != nil {
			t.Skip(err)
		}
		check := func(what, got, like string, fits func(string) bool) {
			lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			if n := strings.Count(like, "\n"); len(lines) != n {
				t.Errorf("%s: %d lines, want %d:\n%s", what, len(lines), n, got)
			}
			for _, line := range lines {
				if !fits(line) {
					t.Errorf("%s: this line is not valid: %s", what, line)
				}
			}
		}
		check("Mermaid", p.Mermaid(), plain.Mermaid(), mermaid.MatchString)
		check("DOT", p.DOT(), plain.DOT(), dot.MatchString)
		check("String", p.String(), plain.String(), func(l string) bool { return l == strings.TrimRight(l, " \t") || strings.HasPrefix(l, "pipeline ") })
		for i, s := range p.Plan().Stages {
			want := spelled(s.Name)
			if r := []rune(want); len(r) > 48 {
				want = string(r[:47]) + "…"
			}
			if label := unescape(t, p.Mermaid(), i); label != want {
				t.Errorf("Mermaid shows %q as %q", s.Name, label)
			}
		}
	})
}

// unescape is the first line of a stage's label as Mermaid would draw it.
func unescape(t *testing.T, chart string, stage int) string {
	_, rest, _ := strings.Cut(chart, "\n  s"+strconv.Itoa(stage))
	_, rest, _ = strings.Cut(rest, `"`)
	label, _, ok := strings.Cut(rest, "<br/>")
	if !ok {
		t.Fatalf("stage %d is not drawn:\n%s", stage, chart)
	}
	return regexp.MustCompile(`#\d+;`).ReplaceAllStringFunc(label, func(e string) string {
		n, err := strconv.Atoi(e[1 : len(e)-1])
		if err != nil {
			t.Error(err)
		}
		return string(rune(n))
	})
}

// spelled is a name of which everything can be seen.
func spelled(name string) string {
	q := strconv.Quote(name)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}
