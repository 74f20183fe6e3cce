package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Describe describes the graph for people: a line per stage, in topological order, and what all of it can hold. where
// names the node of each stage, by its index; nil if that is not decided.
func (g *Graph) Describe(where map[int]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline %q, %s\n\n", g.Name, count(int64(len(g.Stages)), "stage"))
	bounds := g.Bounds()
	b.WriteString(g.table(bounds, where))
	b.WriteByte('\n')
	for _, line := range g.totals(bounds) {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// table is the lines of the stages and that of the consumer, in columns.
func (g *Graph) table(bounds Bounds, where map[int]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(place string, cells ...string) {
		if where != nil {
			cells = append(cells[:len(cells)-1], place, cells[len(cells)-1])
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	row("where", "stage", "kind", "from", "items", "mailbox", "room", "order", "holds", "")
	for i, s := range g.Stages {
		row(plain(where[i]), plain(s.Name), plain(s.Kind), g.inputs(s), typeName(s.Item), s.mailbox(), s.room(), s.order(),
			number(bounds.Stages[i].Items), strings.Join(g.details(s, bounds.Stages[i]), ", "))
	}
	last := g.Stages[g.Outlet.Stage]
	row("", "the consumer", "outlet", g.port(g.Outlet), typeName(last.Item), "-", "flow", "-", number(bounds.Outlet.Items), "")
	w.Flush()
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n")+"\n")
	}
	return strings.Join(lines, "")
}

// port names an output: by its stage, and by its number if there are several.
func (g *Graph) port(p Port) string {
	s := g.Stages[p.Stage]
	if s.Outs == 1 {
		return plain(s.Name)
	}
	return plain(s.Name) + "[" + strconv.Itoa(p.Out) + "]"
}

func (g *Graph) inputs(s *Stage) string {
	var names []string
	for _, p := range s.In {
		names = append(names, g.port(p))
	}
	return list(names, ", ")
}

func (s *Stage) mailbox() string {
	if s.Feed != nil || s.Mix != nil {
		return "-"
	}
	return strconv.Itoa(s.Mailbox)
}

func (s *Stage) room() string {
	if s.Buffer == Flow {
		return "flow"
	}
	return strconv.Itoa(s.Buffer)
}

func (s *Stage) order() string {
	switch {
	case s.Feed != nil, s.Outs == 0, s.Mix != nil:
		return "-"
	case s.Ordered:
		return "ordered"
	}
	return "unordered"
}

// details are the options that were chosen, and what the columns do not say.
func (g *Graph) details(s *Stage, h Held) (d []string) {
	say := func(said bool, format string, args ...any) {
		if said {
			d = append(d, fmt.Sprintf(format, args...))
		}
	}
	say(s.Epochs > 1, "%d epochs", s.Epochs)
	say(s.Epochs == Forever, "forever")
	say(s.Local, "not elsewhere, nor again")
	if s.Mix != nil {
		say(true, "%s", g.mix(s.Mix))
		say(s.Mix.EpochItems > 0, "epochs of %s", count(s.Mix.EpochItems, "item"))
		say(s.Mix.UntilFirstEnd, "until the first input ends")
	}
	say(len(s.In) > 1, "holds %s", g.perInput(s))
	say(s.Outs > 1, "%d branches", s.Outs)
	say(s.Serial && !s.Holds, "one at a time")
	say(s.Holds, "holds back %d", s.MaxHeld)
	say(s.DropLast, "drops what is left")
	say(s.MaxWait > 0, "waits %v at most", s.MaxWait)
	say(s.Timeout > 0, "timeout %v", s.Timeout)
	say(s.Streaming, "streaming")
	switch r := s.Results(); {
	case r == Unlimited:
		d = append(d, "any number of outputs per input")
	case r > 1 && !s.Streaming && s.Outs == 1:
		d = append(d, fmt.Sprintf("%d outputs per input at most", r))
	}
	say(h.Results > 0, "%s outputs wait at most", number(h.Results))
	failed := "skips"
	if s.Policy.Letters != nil {
		failed = "dead letters for"
	}
	say(s.Policy.Count > 0 || s.Policy.Letters != nil && s.Policy.Fraction == 0, "%s %d", failed, s.Policy.Count)
	say(s.Policy.Fraction > 0, "%s %v%%", failed, trim(100*s.Policy.Fraction))
	return d
}

// perInput says how much a merge may hold of each of its inputs.
func (g *Graph) perInput(s *Stage) string {
	var each []string
	for k := range s.In {
		each = append(each, strconv.Itoa(g.InputWindow(s, k).Most()))
	}
	if len(slices.Compact(slices.Clone(each))) == 1 {
		return each[0] + " per input"
	}
	return list(each, " + ")
}

// mix says how a merge takes from its inputs.
func (g *Graph) mix(m *Mix) string {
	of := func(what string) string {
		if m.Fork == 0 {
			return what + " its input"
		}
		return what + " " + strconv.Quote(g.Stages[m.Fork-1].Name)
	}
	switch m.How {
	case RoundRobin:
		return "one of each in turn"
	case Weighted:
		var weights []string
		for _, w := range m.Weights {
			weights = append(weights, trim(w))
		}
		return fmt.Sprintf("weighted %s, seed %d", list(weights, " : "), m.Seed)
	case InputOrder:
		return of("in the order of")
	case Rejoin:
		return of("rejoins the batches of")
	case ByValue:
		return "by value"
	}
	return "as they come"
}

// totals say what the whole graph can hold.
func (g *Graph) totals(b Bounds) (lines []string) {
	var flows bool
	var waiting, unlimited, promised []string
	for i, s := range g.Stages {
		flows = flows || s.Buffer == Flow && s.mostRoom() == LargestRoom
		switch name, h := strconv.Quote(s.Name), b.Stages[i]; {
		case h.Results == Unlimited:
			unlimited = append(unlimited, name)
		case h.Results > 0:
			waiting = append(waiting, name)
		}
		if s.Holds && s.Results() != 1 {
			promised = append(promised, strconv.Quote(s.Name))
		}
	}
	line := "At most " + count(b.Items, "item") + " are held"
	if len(waiting) > 0 {
		line += ", with the outputs that wait at " + list(waiting, ", ")
	}
	if len(unlimited) > 0 {
		line += "; and the outputs that wait at " + list(unlimited, ", ") + ", where nothing limits those of one input"
	}
	lines = append(lines, line+".", "Of the sources' items, at most "+number(b.Sourced)+" are in flight.", g.bytes(b))
	if len(promised) > 0 {
		lines = append(lines, "A flush of "+list(promised, ", ")+" is taken to emit no more for an item held than the item itself may.")
	}
	if g.weighed() {
		lines = append(lines, fmt.Sprintf("Rooms that follow the flow of strings, or of slices of numbers, are kept near %d MiB each.", RoomBytes>>20))
	}
	if flows {
		lines = append(lines, fmt.Sprintf("Rooms that follow the flow have up to %d places, and are counted as if they had all of them.", LargestRoom))
	}
	return lines
}

// bytes says what is known of the memory that items take.
func (g *Graph) bytes(b Bounds) string {
	line := "The sizes of items are not fixed, so bytes are not bounded."
	switch {
	case b.Measured && b.Limited:
		line = "Their values, as inputs and as outputs, take at most " + count(b.Bytes, "byte") + ", without the chunks around them."
	case b.Bytes > 0:
		line = "Where their size is fixed, their values, as inputs and as outputs, take at most " + count(b.Bytes, "byte") +
			", without the chunks around them; elsewhere bytes are not bounded."
	}
	return line
}

// weighed reports whether some room follows the flow of items of which the runtime can see the size.
func (g *Graph) weighed() bool {
	if Weighable(g.Stages[g.Outlet.Stage].Item) {
		return true
	}
	for _, s := range g.Stages {
		if s.Buffer != Flow {
			continue
		}
		for _, p := range s.In {
			if Weighable(g.Stages[p.Stage].Item) {
				return true
			}
		}
		if s.Feed != nil && Weighable(s.Item) {
			return true
		}
	}
	return false
}

// widest is the longest name or type that is shown in full.
const widest = 48

// plain is a name as it is, or quoted if it would not be seen for what it is.
func plain(name string) string {
	if q := strconv.Quote(name); q[1:len(q)-1] != name || strings.TrimSpace(name) != name {
		return q
	}
	return name
}

func typeName(t reflect.Type) string {
	if t == nil {
		return "-"
	}
	return short(plain(t.String()))
}

// short cuts what is too long to be read.
func short(s string) string {
	if r := []rune(s); len(r) > widest {
		return string(r[:widest-1]) + "…"
	}
	return s
}

// list joins what there is, or the first of it if that would be too much.
func list(names []string, by string) string {
	const most = 8
	if len(names) == 0 {
		return "-"
	}
	if n := len(names) - most; n > 0 {
		return strings.Join(names[:most], by) + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, by)
}

func number(n int64) string {
	if n == Countless {
		return "more than 9e18"
	}
	return strconv.FormatInt(n, 10)
}

func trim(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func count(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return number(n) + " " + what
}
