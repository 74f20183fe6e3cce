package plan

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirflow/weir/codecs"
)

// Fingerprint tells graphs apart that have been built in different processes: equal ones are the same pipeline with the
// same options, and understand each other's items. It is the sum of FingerprintText, and costs what that does.
func Fingerprint(g *Graph) [32]byte { return sha256.Sum256([]byte(FingerprintText(g))) }

// FingerprintText is what Fingerprint is the sum of: for Difference. It is the same in every build of the program, on every
// machine: there are no places of statements in it, and no functions, of which nothing can be told. A source that was made
// of a slice hashes it, which runs user code and takes a second per GB or so.
func FingerprintText(g *Graph) string {
	t := &text{}
	t.line("", "pipeline", strconv.Quote(g.Name))
	t.line("", "codec", strconv.Quote(g.Codec.Name()))
	t.line("", "hooks", strconv.Itoa(g.HookCount))
	t.errors(g)
	t.line("", "stages", strconv.Itoa(len(g.Stages)))
	for _, s := range g.Stages {
		t.stage(g, s)
	}
	t.line("", "outlet", g.portName(g.Outlet))
	return t.String()
}

// A text is lines of "key: value"; those of a stage are indented, below the line of its name. No value has a line break.
type text struct{ strings.Builder }

func (t *text) line(indent, key, value string) {
	t.WriteString(indent + key + ": " + value + "\n")
}

// stage writes the same keys for every stage, so that two texts differ in values as long as they can.
func (t *text) stage(g *Graph, s *Stage) {
	t.line("", "stage", strconv.Quote(s.Name))
	set := func(key string, value any) { t.line("\t", key, valueText(value)) }
	set("kind", strconv.Quote(s.Kind))
	set("input", strings.Join(g.portNames(s.In), ", "))
	set("outputs", s.Outs)
	set("item", shapeText(codecs.ShapeOf(s.Item)))
	if s.Content != nil {
		set("origin", s.Content())
	} else {
		set("origin", "")
	}
	set("mailbox", s.Mailbox)
	if s.Buffer == Flow {
		set("buffer", "as the flow")
	} else {
		set("buffer", s.Buffer)
	}
	set("largest room", s.MaxRoom)
	set("ordered", s.Ordered)
	set("serial", s.Serial)
	set("size", s.Size)
	set("holds", s.Holds)
	set("max held", s.MaxHeld)
	set("groups", s.Groups)
	set("drop last", s.DropLast)
	set("max wait", s.MaxWait)
	set("streaming", s.Streaming)
	set("max outputs", s.MaxOutputs)
	set("timeout", s.Timeout)
	set("epochs", s.Epochs)
	set("local", s.Local)
	set("budget", s.Policy.Count)
	set("budget fraction", s.Policy.Fraction)
	set("dead letters", s.Policy.Letters != nil)
	set("retry attempts", s.Retry.Attempts)
	set("retry pauses", fmt.Sprintf("%v to %v", s.Retry.First, s.Retry.Max))
	set("retry condition", s.Retry.If != nil)
	set("restarts", fmt.Sprintf("%d within %v", s.Restart.Max, s.Restart.Within))
	set("restart pauses", fmt.Sprintf("%v to %v", s.Restart.First, s.Restart.Pause))
	set("restart together", strings.Join(g.names(s.Restart.Together), ", "))
	set("rounds", fmt.Sprint(s.Rounds))
	t.parting(s)
	t.mix(s.Mix)
}

func (t *text) parting(s *Stage) {
	var fork Fork
	if s.Fork != nil {
		fork = *s.Fork
	}
	t.line("\t", "fork", valueText(s.Fork != nil))
	t.line("\t", "several branches", valueText(fork.Several))
	t.line("\t", "numbered", valueText(fork.Numbered))
}

func (t *text) mix(m *Mix) {
	how := ""
	if m == nil {
		m = &Mix{}
	} else {
		how = [...]string{"arrival", "round robin", "weighted", "input order", "rejoin", "by value"}[m.How]
	}
	var weights []string
	for _, w := range m.Weights {
		weights = append(weights, valueText(w))
	}
	t.line("\t", "mix", how)
	t.line("\t", "weights", strings.Join(weights, " "))
	t.line("\t", "seed", strconv.FormatUint(m.Seed, 10))
	t.line("\t", "epoch items", valueText(m.EpochItems))
	t.line("\t", "until first end", valueText(m.UntilFirstEnd))
	t.line("\t", "order of", valueText(m.Fork))
}

// valueText is a value as people read it, and as every machine writes it.
func valueText(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Duration:
		return v.String()
	}
	return fmt.Sprint(v)
}

func (g *Graph) names(stages []int) (names []string) {
	for _, i := range stages {
		names = append(names, strconv.Quote(g.Stages[i].Name))
	}
	return names
}

// portName is that of the stage, and which of its outputs if there are several.
func (g *Graph) portName(p Port) string {
	name := strconv.Quote(g.Stages[p.Stage].Name)
	if g.Stages[p.Stage].Outs > 1 {
		name += " output " + strconv.Itoa(p.Out)
	}
	return name
}

func (g *Graph) portNames(ports []Port) (names []string) {
	for _, p := range ports {
		names = append(names, g.portName(p))
	}
	return names
}

// longestShape is how much of a shape there is in a text. Few are longer: of those there is the beginning and a sum.
const longestShape = 2000

func shapeText(shape string) string {
	if len(shape) <= longestShape {
		return shape
	}
	sum := sha256.Sum256([]byte(shape))
	return fmt.Sprintf("%s… sha256 %x", strings.ToValidUTF8(shape[:longestShape], ""), sum[:8])
}
