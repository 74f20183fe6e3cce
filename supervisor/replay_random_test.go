package supervisor_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// upFront are the letters of the stages behind the sources, for all of their items; ok is false if there is a source
// before a merge, which takes none, or before nothing.
func upFront(g *graph) (letters []stages.Letter, ok bool) {
	if g.vertices[g.outlet.vertex].kind == "source" {
		return nil, false
	}
	for i := range g.vertices {
		for _, in := range g.vertices[i].in {
			source := &g.vertices[in.vertex]
			switch {
			case source.kind != "source":
				continue
			case g.vertices[i].isMerge():
				return nil, false
			}
			for n := range source.lens[0] {
				letters = append(letters, letter(g.name(i), n, parcel{{Src: in.vertex, Index: n}}))
			}
		}
	}
	return letters, true
}

// Letters of all that the sources would yield, for the stages behind them, give what the sources give, in that order:
// what the reference gives.
func TestRandomGraphsTreatLettersAsItems(t *testing.T) {
	seeds, tried := 400, 0
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		g := randomGraph(uint64(seed))
		g.epochs, g.bubble = 1, true
		for i := range g.vertices {
			v := &g.vertices[i]
			if v.firstEnd = false; v.kind == "source" {
				v.lens = v.lens[:1]
			}
		}
		letters, ok := upFront(g)
		if !ok || lawful(g) != nil {
			continue
		}
		tried++
		synctest.Test(t, func(t *testing.T) {
			if err := build(g).run(t.Context(), time.Hour, supervisor.Replay(post(letters))); err != nil {
				t.Errorf("seed %d: %v\nin\n%v", seed, err, g)
			}
		})
	}
	if tried < seeds/4 {
		t.Errorf("only %d graphs of %d were tried", tried, seeds)
	}
}

// strewn are letters of some stages that work on items, whatever they are.
func strewn(r *rand.Rand, p stages.Pipeline[parcel]) (letters []stages.Letter) {
	all := p.Plan().Stages
	for range 1 + r.IntN(4) {
		s := all[r.IntN(len(all))]
		if s.Open == nil {
			continue
		}
		in := all[s.In[0].Stage].Item
		for n := range r.IntN(50) {
			item := make(parcel, 1+r.IntN(4))
			for i := range item {
				item[i] = tok{Src: r.IntN(3), Index: n, Way: r.Uint64()}
			}
			var v any = item
			switch in {
			case reflect.TypeFor[tok]():
				v = item[0]
			case reflect.TypeFor[[]parcel]():
				v = []parcel{item}
			}
			letters = append(letters, letter(s.Name, n, v))
		}
	}
	r.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
	return letters
}

// Wherever letters enter, the run comes to its end, and each of them is accounted for. Only parts of batches are refused.
func TestRandomGraphsTakeLettersAnywhere(t *testing.T) {
	seeds, refused, through := 150, 0, int64(0)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		g := randomGraph(uint64(seed))
		g.bubble, g.hooked = true, 0 // hooks know the items of the reference
		for i := range g.vertices {
			g.vertices[i].poison = 0 // too many of them in a row are the stage's fault
		}
		p := build(g)
		letters := strewn(rand.New(rand.NewPCG(uint64(seed), 11)), p.pipeline)
		_, s, err := replay(t, p.pipeline, post(letters))
		through += s.Delivered
		switch _, faulty := errors.AsType[*stages.DefinitionError](err); {
		case faulty:
			refused++
		case err != nil || s.Yielded != int64(len(letters)):
			t.Errorf("seed %d: %v; %d of %d letters\nin\n%v", seed, err, s.Yielded, len(letters), g)
		}
		for _, f := range p.faults {
			t.Errorf("seed %d: %s", seed, f)
		}
	}
	if refused == 0 || refused > seeds/2 || through == 0 {
		t.Error(fmt.Sprint("refused: ", refused, ", items delivered: ", through))
	}
}
