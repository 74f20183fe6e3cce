package plan_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/plan"
)

// twoStages is a graph in which most fields have their zero values.
func twoStages() *plan.Graph {
	return &plan.Graph{
		Name: "p", Codec: &msgpack.Codec{}, Outlet: plan.Port{Stage: 1},
		Stages: []*plan.Stage{
			{Name: "in", Kind: "source", Outs: 1, Item: reflect.TypeFor[string]()},
			{Name: "out", Kind: "merge", In: []plan.Port{{}}, Outs: 1, Item: reflect.TypeFor[string](), Fork: &plan.Fork{}, Mix: &plan.Mix{}},
		},
	}
}

// differently returns another value than v's.
func differently(t *testing.T, v reflect.Value) reflect.Value {
	switch v.Interface().(type) {
	case reflect.Type:
		return reflect.ValueOf(reflect.TypeFor[int]())
	case []plan.Port:
		return reflect.ValueOf([]plan.Port{{}, {}})
	case plan.How:
		return reflect.ValueOf(plan.Weighted)
	case func() string:
		return reflect.ValueOf(func() string { return "other" })
	case func(error) bool:
		return reflect.ValueOf(func(error) bool { return false })
	}
	other := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Bool:
		other.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		other.SetInt(v.Int() + 1)
	case reflect.Uint64:
		other.SetUint(v.Uint() + 1)
	case reflect.Float64:
		other.SetFloat(v.Float() + 0.5)
	case reflect.String:
		other.SetString(v.String() + "x")
	case reflect.Slice:
		other.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Interface:
		return reflect.ValueOf(any(1))
	default:
		t.Fatalf("the test knows no other %v", v.Type())
	}
	return other
}

// Whoever adds a field to a stage decides whether other processes must have the same in it.
func TestEveryFieldIsInTheFingerprintOrSaidNotToBe(t *testing.T) {
	not := []string{
		"Stage.Index",                               // the order of the stages
		"Stage.Absent", "Stage.Far", "Stage.Intake", // of parts of a graph
		"Stage.File", "Stage.Line", // another build has others
		"Stage.Pool", "Stage.Open", "Stage.Feed", "Mix.Join", "Mix.Stray", "Mix.Open", // code
	}
	same := plan.FingerprintText(twoStages())
	used := map[string]bool{}
	var walk func(name string, of func(*plan.Graph) reflect.Value)
	walk = func(name string, of func(*plan.Graph) reflect.Value) {
		for i := range of(twoStages()).NumField() {
			g := twoStages()
			field, kind := of(g).Field(i), of(g).Type().Field(i)
			path := name + "." + kind.Name
			inner := func(g *plan.Graph) reflect.Value { return reflect.Indirect(of(g).Field(i)) }
			switch {
			case strings.Contains(strings.Join(not, " ")+" ", path+" "):
				used[path] = true
				continue
			case kind.Type.Kind() == reflect.Struct:
				walk(kind.Name, inner)
				continue
			case kind.Type.Kind() == reflect.Pointer:
				walk(kind.Name, inner)
				field.SetZero()
			default:
				field.Set(differently(t, field))
			}
			text := plan.FingerprintText(g)
			if text == same || plan.Fingerprint(g) == plan.Fingerprint(twoStages()) {
				t.Errorf("%s is not in the fingerprint", path)
			}
			if d := plan.Difference(text, same); !strings.Contains(d, `stage "out": `) && !strings.HasPrefix(d, "stage 2 is") {
				t.Errorf("of another %s is told: %s", path, d)
			}
		}
	}
	walk("Stage", func(g *plan.Graph) reflect.Value { return reflect.ValueOf(g.Stages[1]).Elem() })
	if len(used) != len(not) {
		t.Errorf("only %v are there, of %v", used, not)
	}
}

func TestDifferencesAreToldInWords(t *testing.T) {
	for name, c := range map[string]struct {
		change func(g *plan.Graph)
		want   string
	}{
		"nothing":       {func(*plan.Graph) {}, ""},
		"an option":     {func(g *plan.Graph) { g.Stages[1].Mailbox = 8 }, `stage "out": mailbox 8 there, 0 here`},
		"the flow":      {func(g *plan.Graph) { g.Stages[1].Buffer = plan.Flow }, `stage "out": buffer as the flow there, 0 here`},
		"a time":        {func(g *plan.Graph) { g.Stages[1].Timeout = time.Second }, `stage "out": timeout 1s there, 0s here`},
		"a switch":      {func(g *plan.Graph) { g.Stages[0].Ordered = true }, `stage "in": ordered yes there, no here`},
		"a name":        {func(g *plan.Graph) { g.Stages[1].Name = "last" }, `stage 2 is "last" there, "out" here`},
		"the pipeline":  {func(g *plan.Graph) { g.Name = "q" }, `pipeline "q" there, "p" here`},
		"fewer stages":  {func(g *plan.Graph) { g.Stages, g.Outlet = g.Stages[:1], plan.Port{} }, `stages 1 there, 2 here`},
		"hooks":         {func(g *plan.Graph) { g.HookCount = 1 }, `hooks 1 there, 0 here`},
		"a type":        {func(g *plan.Graph) { g.Stages[1].Item = reflect.TypeFor[int]() }, `stage "out": item int there, string here`},
		"an origin":     {func(g *plan.Graph) { g.Stages[0].Content = func() string { return "a slice of 3" } }, `stage "in": origin a slice of 3 there, none here`},
		"a merge":       {func(g *plan.Graph) { g.Stages[1].Mix = nil }, `stage "out": mix none there, arrival here`},
		"dead letters":  {func(g *plan.Graph) { g.Stages[1].Policy.Letters = 1 }, `stage "out": dead letters yes there, no here`},
		"another input": {func(g *plan.Graph) { g.Stages[0].Outs = 2; g.Stages[1].In = []plan.Port{{Out: 1}} }, `stage "in": outputs 2 there, 1 here`},
	} {
		t.Run(name, func(t *testing.T) {
			g := twoStages()
			c.change(g)
			if got := plan.Difference(plan.FingerprintText(g), plan.FingerprintText(twoStages())); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Where a program was built, and where in it a stage is declared, is no difference.
func TestPlacesAndCodeAreNoDifference(t *testing.T) {
	g := twoStages()
	s := g.Stages[1]
	s.File, s.Line = "/home/somebody/main.go", 12
	s.Open = func(context.Context) (plan.Kernel, error) { return nil, errors.New("never called") }
	if plan.Fingerprint(g) != plan.Fingerprint(twoStages()) {
		t.Error("the fingerprint is another one")
	}
}

// A stranger's text is told in few words, and cannot speak to a terminal.
func FuzzDifference(f *testing.F) {
	text := plan.FingerprintText(twoStages())
	f.Add(text, strings.Replace(text, "mailbox: 0", "mailbox: 1", 1))
	f.Add(text, text+"\x1b[2J")
	f.Add(text, text[:len(text)-1])
	f.Add("", text)
	f.Add("\t: \xff", "\t: \xfe")
	f.Add("stage: "+strings.Repeat("é", 300), "stage: "+strings.Repeat("é", 299))
	f.Fuzz(func(t *testing.T, there, here string) {
		d := plan.Difference(there, here)
		if (d == "") != (there == here) {
			t.Errorf("%q and %q: %q", there, here, d)
		}
		if len(d) > 4*4*100+100 || strings.ContainsAny(d, "\n\x1b\x00\x7f") {
			t.Errorf("%q", d)
		}
	})
}
