package stages_test

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/stages"
)

type shop struct {
	Name    string
	Workers int
	Tags    []string
	Wait    time.Duration
	Rates   map[string]float64
	More    *shop
}

func defineShop() *stages.Definition[shop, int] {
	return stages.Define("shop", func(g *stages.Graph, cfg shop) stages.Stream[int] {
		return stages.Map(numbers(g, cfg.Name), "work", same, stages.Mailbox(cfg.Workers))
	})
}

func TestAPipelineIsBuiltAgainFromItsConfiguration(t *testing.T) {
	for name, cfg := range map[string]shop{
		"a full one":      {"in", 4, []string{"a", "b"}, time.Second, map[string]float64{"x": 0.5, "y": 1}, &shop{Tags: []string{}}},
		"with nil fields": {Name: "in", Workers: 4},
		"empty, not nil":  {Name: "in", Workers: 4, Tags: []string{}, Rates: map[string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := defineShop()
			p := d.With(cfg)
			config, err := p.EncodeConfig()
			if err != nil {
				t.Fatal(err)
			}
			g, err := stages.Rebuild(d, config)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := g.Describe(nil), p.String(); got != want {
				t.Errorf("it has become\n%s\nwant\n%s", got, want)
			}
			if g == p.Plan() || g.Stages[1].Mailbox != 4 {
				t.Error("it has not been built again")
			}
		})
	}
}

func TestAPipelineWithoutConfigurationIsBuiltAgain(t *testing.T) {
	d := stages.Define("plain", func(g *stages.Graph, _ struct{}) stages.Stream[int] { return numbers(g, "in") })
	config, err := d.With(struct{}{}).EncodeConfig()
	if err != nil {
		t.Fatal(err)
	}
	if g, err := stages.Rebuild(d, config); err != nil || g.Name != "plain" {
		t.Errorf("got %v, %v", g, err)
	}
}

type forgetful struct{ N int }

func (f forgetful) MarshalBinary() ([]byte, error) { return []byte{byte(f.N)}, nil }
func (f *forgetful) UnmarshalBinary([]byte) error  { f.N = 7; return nil }

type explosive struct{ N int }

func (e explosive) MarshalBinary() ([]byte, error) {
	if e.N == 1 {
		panic("no number")
	}
	return []byte{byte(e.N)}, nil
}

func (e *explosive) UnmarshalBinary(b []byte) error {
	if len(b) != 1 || b[0] == 2 {
		panic("no such number")
	}
	e.N = int(b[0])
	return nil
}

type hiding struct {
	Name string
	//lint:ignore U1000 it is there to be refused
	secret string
}

type picky struct {
	Filter struct{ Match func(string) bool }
}

func encodeConfig[C any](c C) error {
	p := stages.Define("cfg", func(g *stages.Graph, _ C) stages.Stream[int] { return numbers(g, "in") }).With(c)
	if p.Err() != nil {
		return p.Err()
	}
	_, err := p.EncodeConfig()
	return err
}

func TestAConfigurationThatCannotTravelIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		err         error
		encodable   bool
		wants, nots string
	}{
		"a function":       {encodeConfig(picky{}), false, "picky.Filter.Match", ""},
		"a hidden field":   {encodeConfig(hiding{}), false, "hiding.secret", ""},
		"an interface":     {encodeConfig[any](1), false, "interface", ""},
		"a forgetful type": {encodeConfig(forgetful{3}), false, "is not the same when it has been encoded and decoded", ""},
		"a panic":          {encodeConfig(explosive{1}), true, "panic: no number", ""},
		"a panic later":    {encodeConfig(explosive{2}), true, "panic: no such number", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.err == nil || !strings.Contains(c.err.Error(), c.wants) || !strings.Contains(c.err.Error(), `pipeline "cfg"`) {
				t.Fatalf("got %v, want %q", c.err, c.wants)
			}
			if !c.encodable && !errors.Is(c.err, codecs.ErrNotEncodable) {
				t.Errorf("%v is no ErrNotEncodable", c.err)
			}
		})
	}
}

func TestRebuildSurvivesAnyConfiguration(t *testing.T) {
	d := defineShop()
	good, err := d.With(shop{Name: "in", Workers: 2}).EncodeConfig()
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string][]byte{
		"nothing":    nil,
		"cut short":  good[:len(good)-1],
		"more":       append(append([]byte{}, good...), 0xc0),
		"an integer": {1},
		"a bomb":     {0xdd, 0xff, 0xff, 0xff, 0xff},
	} {
		if g, err := stages.Rebuild(d, config); err == nil || g != nil || !strings.Contains(err.Error(), `pipeline "shop": its configuration cannot be decoded`) {
			t.Errorf("%s: got %v, %v", name, g, err)
		}
	}
	nobody := stages.Define("explosive", func(g *stages.Graph, _ explosive) stages.Stream[int] { return numbers(g, "in") })
	if _, err := stages.Rebuild(nobody, []byte{0xc4, 1, 2}); err == nil || !strings.Contains(err.Error(), "panic: no such number") {
		t.Errorf("got %v", err)
	}
	if _, err := stages.Rebuild(nil, good); err == nil {
		t.Error("nil was built")
	}
}

func TestRebuildReturnsAllFaults(t *testing.T) {
	d := defineShop()
	bad := d.With(shop{Workers: 0})
	config, err := bad.EncodeConfig()
	if err != nil {
		t.Fatal(err)
	}
	g, err := stages.Rebuild(d, config)
	if g != nil || err == nil || err.Error() != bad.Err().Error() {
		t.Errorf("got %v, %v, want %v", g, err, bad.Err())
	}
	if _, is := errors.AsType[*stages.DefinitionError](err); !is {
		t.Errorf("%v is no DefinitionError", err)
	}
}

func TestWhatRunsLettersIsNotRebuilt(t *testing.T) {
	p := defineShop().With(shop{Name: "in", Workers: 2})
	var none iter.Seq2[stages.Letter, error] = func(func(stages.Letter, error) bool) {}
	p, err := p.Replaying(t.Context(), none)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.EncodeConfig(); err == nil || !strings.Contains(err.Error(), `pipeline "shop" runs letters`) {
		t.Errorf("got %v", err)
	}
	if _, err := (stages.Pipeline[int]{}).EncodeConfig(); err == nil {
		t.Error("the zero Pipeline has a configuration")
	}
}
