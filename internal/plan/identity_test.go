package plan_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/weirflow/weir/internal/plan"
)

// A list is a run-length encoded list of identities beside a naive one.
type list struct {
	ids   plan.IDs
	model []plan.ID
}

// kid is the i-th of several outputs of an item.
func kid(parent plan.ID, i int) plan.ID {
	parent.Path += fmt.Sprintf(".%d", i)
	return parent
}

// identity reads a run of one, which shows itself to nobody.
func identity(r plan.Run) plan.ID {
	var s plan.IDs
	s.Kids(new(plan.Tally), r, 1)
	return s.At(0)
}

func (l *list) check(t *testing.T, after string) {
	t.Helper()
	if l.ids.Len() != len(l.model) {
		t.Fatalf("after %s: %d identities, want %d", after, l.ids.Len(), len(l.model))
	}
	c := l.ids.From(0)
	for i, want := range l.model {
		if got := l.ids.At(i); got != want {
			t.Fatalf("after %s: At(%d) is %+v, want %+v", after, i, got, want)
		}
		if peek, next := identity(c.Peek()), identity(c.Next()); peek != want || next != want {
			t.Fatalf("after %s: the cursor sees %+v, then %+v at %d, want %+v", after, peek, next, i, want)
		}
	}
}

// take moves the first n identities to a new list.
func (l *list) take(n int) *list {
	front := &list{model: slices.Clone(l.model[:n])}
	l.ids.TakeFront(&front.ids, n)
	l.model = slices.Clone(l.model[n:])
	return front
}

// step does something random to a, with b as its source, and says what.
func step(r *rand.Rand, a, b *list) string {
	from := r.IntN(len(b.model) + 1)
	to := from + r.IntN(len(b.model)-from+1)
	several := r.IntN(5)
	switch r.IntN(8) {
	case 0:
		id := plan.ID{Source: r.IntN(2), Epoch: r.IntN(2), Index: int64(r.IntN(4))}
		if n := len(a.model); n > 0 && r.IntN(2) == 0 { // what a source does
			id = a.model[n-1]
			id.Index, id.Path = id.Index+1, ""
		}
		a.ids.Source(id.Source, id.Epoch, id.Index, several)
		for i := range several {
			next := id
			next.Index += int64(i)
			a.model = append(a.model, next)
		}
		return "Source"
	case 1:
		a.ids.Range(&b.ids, from, to)
		a.model = append(a.model, b.model[from:to]...)
		return "Range"
	case 2:
		c := b.ids.From(from)
		c.CopyTo(&a.ids, to)
		a.model = append(a.model, b.model[from:to]...)
		if to < len(b.model) {
			a.ids.Kids(new(plan.Tally), c.Next(), 1)
			a.model = append(a.model, b.model[to])
		}
		return "CopyTo"
	case 3:
		if n := min(len(a.model), 1+r.IntN(8)); n > 0 && len(a.model) > 30 {
			a.take(n).model = nil
		}
		return "TakeFront"
	case 4:
		if from == len(b.model) {
			return "nothing"
		}
		c, n := b.ids.From(from), 1+several
		a.ids.Kids(new(plan.Tally), c.Peek(), n)
		for i := range n {
			if id := b.model[from]; n == 1 {
				a.model = append(a.model, id)
			} else {
				a.model = append(a.model, kid(id, i))
			}
		}
		return "Kids"
	case 5:
		if from == len(b.model) {
			return "nothing"
		}
		c := b.ids.From(from)
		f := plan.NewFamily(new(plan.Tally), c.Peek(), 100)
		for at := 0; at < 6; { // as a Streaming stage hands on its outputs
			n := 1 + r.IntN(3)
			a.ids.Members(f, at, n)
			for i := range n {
				a.model = append(a.model, kid(b.model[from], at+i))
			}
			at += n
		}
		return "Members"
	case 6:
		if len(b.model) == 0 {
			return "nothing"
		}
		parents, n := b.take(1+r.IntN(len(b.model))), 1+several
		last := parents.ids.From(len(parents.model) - 1)
		a.ids.Merged(new(plan.Tally), &parents.ids, last.Peek(), n)
		for i := range n {
			if id := parents.model[0]; n == 1 {
				a.model = append(a.model, id)
			} else {
				a.model = append(a.model, kid(id, i))
			}
		}
		if parents.ids.Len() != 0 {
			return "Merged, which has left parents"
		}
		return "Merged"
	}
	if len(a.model) > 60 {
		a.ids.Reset()
		a.model = nil
	}
	return "Reset"
}

func TestIdentitiesAreThoseOfANaiveList(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		lists := []*list{{}, {}, {}}
		for range 120 {
			a := r.IntN(3)
			b := (a + 1 + r.IntN(2)) % 3
			after := fmt.Sprintf("%s, seed %d", step(r, lists[a], lists[b]), seed)
			lists[a].check(t, after)
			lists[b].check(t, after)
		}
	}
}

func TestTakeFrontMovesWhatItTakes(t *testing.T) {
	var a, front plan.IDs
	a.Source(0, 0, 10, 5)
	a.Source(1, 0, 3, 5)
	a.TakeFront(&front, 7)
	var got []int64
	for i := range front.Len() {
		got = append(got, front.At(i).Index)
	}
	for i := range a.Len() {
		got = append(got, a.At(i).Index)
	}
	if want := []int64{10, 11, 12, 13, 14, 3, 4, 5, 6, 7}; !slices.Equal(got, want) || a.Len() != 3 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAnIdentityOutOfRangePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var a plan.IDs
	a.Source(0, 0, 0, 3)
	a.At(3)
}

func TestAnOutputWithoutParentsIsAChildOfTheItemItWasMadeAt(t *testing.T) {
	var source, none, out plan.IDs
	source.Source(2, 1, 9, 1)
	at := source.From(0)
	out.Merged(new(plan.Tally), &none, at.Peek(), 2)
	for i := range 2 {
		if got, want := out.At(i), (plan.ID{Source: 2, Epoch: 1, Index: 9, Path: fmt.Sprintf(".%d", i)}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// What a list has let go of is not kept alive by its memory.
func TestListsDropTheFamiliesTheyHaveLetGoOf(t *testing.T) {
	for name, letGo := range map[string]func(s, other *plan.IDs){
		"Reset":     func(s, _ *plan.IDs) { s.Reset() },
		"TakeFront": func(s, other *plan.IDs) { s.TakeFront(other, s.Len()); other.Reset() },
	} {
		t.Run(name, func(t *testing.T) {
			var parent, s, other plan.IDs
			parent.Source(0, 0, 0, 1)
			f := plan.NewFamily(new(plan.Tally), func() plan.Run { c := parent.From(0); return c.Peek() }(), 3)
			s.Members(f, 0, 2)
			s.Source(0, 0, 1, 4)
			s.Members(f, 2, 1)
			w := weak.Make(f)
			f = nil
			letGo(&s, &other)
			runtime.GC()
			if w.Value() != nil {
				t.Error("the family is still reachable")
			}
			runtime.KeepAlive(&s)
			runtime.KeepAlive(&other)
		})
	}
}
