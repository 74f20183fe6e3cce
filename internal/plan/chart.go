package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mermaid returns the graph as a Mermaid flow chart. where is that of Describe; what it puts in one place is drawn in
// one frame.
func (g *Graph) Mermaid(where map[int]string) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	g.frames(where, func(frame int, label string, stages []int) {
		indent := "  "
		if frame >= 0 {
			fmt.Fprintf(&b, "  subgraph n%d[\"%s\"]\n", frame, mermaid(label))
			indent = "    "
		}
		for _, i := range stages {
			s := g.Stages[i]
			left, right := s.shape()
			fmt.Fprintf(&b, "%ss%d%s\"%s<br/>%s\"%s\n", indent, i, left, mermaid(s.Name), mermaid(s.caption()), right)
		}
		if frame >= 0 {
			b.WriteString("  end\n")
		}
	})
	b.WriteString("  out((\"the consumer\"))\n")
	g.arrows(func(from int, to, label string) {
		fmt.Fprintf(&b, "  s%d -->|\"%s\"| %s\n", from, mermaid(label), to)
	})
	return b.String()
}

// DOT returns the graph in Graphviz's language. where is that of Describe.
func (g *Graph) DOT(where map[int]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph \"%s\" {\n  rankdir=LR\n  node [shape=box]\n", dot(g.Name))
	g.frames(where, func(frame int, label string, stages []int) {
		indent := "  "
		if frame >= 0 {
			fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=\"%s\"\n", frame, dot(label))
			indent = "    "
		}
		for _, i := range stages {
			s := g.Stages[i]
			fmt.Fprintf(&b, "%ss%d [label=\"%s\\n%s\"%s]\n", indent, i, dot(s.Name), dot(s.caption()), s.dotShape())
		}
		if frame >= 0 {
			b.WriteString("  }\n")
		}
	})
	b.WriteString("  out [label=\"the consumer\", shape=doublecircle]\n")
	g.arrows(func(from int, to, label string) {
		fmt.Fprintf(&b, "  s%d -> %s [label=\"%s\"]\n", from, to, dot(label))
	})
	b.WriteString("}\n")
	return b.String()
}

// frames calls draw for each node with its stages, in the order in which the nodes come first, and with frame -1 for the
// stages that are nowhere.
func (g *Graph) frames(where map[int]string, draw func(frame int, label string, stages []int)) {
	var labels []string
	var lost []int
	at := map[string][]int{}
	for i := range g.Stages {
		label, ok := where[i]
		if !ok {
			lost = append(lost, i)
			continue
		}
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
		at[label] = append(at[label], i)
	}
	draw(-1, "", lost)
	for i, label := range labels {
		draw(i, label, at[label])
	}
}

// arrows calls draw for each edge, with the items that it carries and how many of them its end may hold.
func (g *Graph) arrows(draw func(from int, to, label string)) {
	edge := func(p Port, to string, most int) {
		s := g.Stages[p.Stage]
		label := fmt.Sprintf("%s, ≤ %d", typeName(s.Item), most)
		if s.Outs > 1 {
			label = fmt.Sprintf("[%d] %s", p.Out, label)
		}
		draw(p.Stage, to, label)
	}
	for i, s := range g.Stages {
		for k, p := range s.In {
			edge(p, "s"+strconv.Itoa(i), g.InputWindow(s, k).Most())
		}
	}
	edge(g.Outlet, "out", g.OutletWindow().Most())
}

// caption is the second line of a stage in a chart.
func (s *Stage) caption() string {
	if s.Feed != nil || s.Mix != nil {
		return s.Kind
	}
	return fmt.Sprintf("%s, mailbox %d", s.Kind, s.Mailbox)
}

// shape is what stands around a stage's label in Mermaid.
func (s *Stage) shape() (left, right string) {
	switch {
	case s.Feed != nil:
		return "([", "])"
	case s.Mix != nil:
		return "{{", "}}"
	case s.Outs == 0:
		return "[(", ")]"
	case s.Outs > 1:
		return "{", "}"
	}
	return "[", "]"
}

func (s *Stage) dotShape() string {
	switch {
	case s.Feed != nil:
		return ", shape=oval"
	case s.Mix != nil:
		return ", shape=hexagon"
	case s.Outs == 0:
		return ", shape=cylinder"
	case s.Outs > 1:
		return ", shape=diamond"
	}
	return ""
}

// visible spells out what cannot be seen, and cuts what is too long.
func visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
			q := strconv.Quote(s[i : i+n])
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return short(b.String())
}

// mermaid is s inside the quotes of a label: all but harmless signs as entities, which Mermaid resolves last. What stands
// first could be taken for Markdown, that is, for a list.
func mermaid(s string) string {
	var b strings.Builder
	first := true
	for _, r := range visible(s) {
		switch {
		case unicode.IsDigit(r):
			b.WriteRune(r)
		case unicode.IsLetter(r), strings.ContainsRune(",([]/≤…", r), !first && strings.ContainsRune(" -.)", r):
			b.WriteRune(r)
			first = false
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// dot is s inside the quotes of a label: Graphviz looks for quotes, escapes and the entities of HTML in it.
func dot(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(visible(s))
}
