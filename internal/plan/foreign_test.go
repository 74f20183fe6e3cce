package plan_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/weirflow/weir/internal/plan"
)

func first(s *plan.IDs) plan.Run {
	c := s.From(0)
	return c.Peek()
}

func names(s *plan.IDs) (all []string) {
	for i := range s.Len() {
		id := s.At(i)
		all = append(all, fmt.Sprintf("%d/%d/%d%s", id.Source, id.Epoch, id.Index, id.Path))
	}
	return all
}

func TestForeignItemsAreCalledAfterTheirParent(t *testing.T) {
	for name, c := range map[string]struct {
		paths, want []string
	}{
		"one that is still one to one":  {[]string{""}, []string{"1/2/7.4"}},
		"one of several that were made": {[]string{".3"}, []string{"1/2/7.4.3"}},
		"all that were made":            {[]string{".0", ".1", ".2"}, []string{"1/2/7.4.0", "1/2/7.4.1", "1/2/7.4.2"}},
		"families of families":          {[]string{".1.0", ".1.1", ".3"}, []string{"1/2/7.4.1.0", "1/2/7.4.1.1", "1/2/7.4.3"}},
		"two of the same name":          {[]string{"", ""}, []string{"1/2/7.4", "1/2/7.4"}},
		"in another order":              {[]string{".1", ".0"}, []string{"1/2/7.4.1", "1/2/7.4.0"}},
		"another number":                {[]string{".0", ".01"}, []string{"1/2/7.4.0", "1/2/7.4.01"}},
	} {
		t.Run(name, func(t *testing.T) {
			var parent, out plan.IDs
			parent.Named(plan.ID{Source: 1, Epoch: 2, Index: 7, Path: ".4"})
			paths := slices.Clone(c.paths)
			out.Foreign(new(plan.Tally), first(&parent), paths)
			clear(paths) // they are not kept
			if got := names(&out); !slices.Equal(got, c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i, want := range c.want { // also as they go on
				var one plan.IDs
				one.Range(&out, i, i+1)
				if got := names(&one); got[0] != want {
					t.Errorf("alone, got %v, want %v", got, want)
				}
			}
			var every, kids plan.IDs
			for i := 0; i < out.Len(); i += 2 {
				every.Range(&out, i, i+1)
			}
			for i, got := range names(&every) {
				if got != c.want[2*i] {
					t.Errorf("every other one: got %v, want %v", got, c.want[2*i])
				}
			}
			last := out.From(out.Len() - 1)
			kids.Kids(new(plan.Tally), last.Peek(), 2)
			if got, want := names(&kids), c.want[len(c.want)-1]; !slices.Equal(got, []string{want + ".0", want + ".1"}) {
				t.Errorf("its children are %v", got)
			}
		})
	}
}

func TestANamedItemIsItsSources(t *testing.T) {
	for _, path := range []string{"", ".0", ".3.11"} {
		var s plan.IDs
		want := plan.ID{Source: 3, Epoch: 1, Index: 12, Path: path}
		s.Named(want)
		if got := s.At(0); got != want || s.Len() != 1 {
			t.Errorf("got %+v, want %+v", got, want)
		}
		var tally plan.Tally
		var account plan.Account
		tally.Settle(&s, 0, 1, plan.Delivered)
		account.Add(&tally)
		if got := settled(&account); got != (counts{delivered: 1}) {
			t.Errorf("%q: settled %+v", path, got)
		}
	}
}

// The members of a foreign family are one account, also where they leave by several ports.
func TestForeignItemsShareTheirFate(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 4))
		var parents plan.IDs
		parents.Source(0, 0, 0, 1+r.IntN(2))
		if r.IntN(2) == 0 {
			parents.Source(0, 0, 9, 1)
		}
		of, last := parents.Len(), parents.At(parents.Len()-1)
		n := 1 + r.IntN(5)
		paths := make([]string, n)
		for i := range paths {
			paths[i] = fmt.Sprintf(".%d", r.IntN(n))
		}
		f := plan.NewForeign(&parents, paths)
		if parents.Len() != 0 {
			t.Fatalf("seed %d: the parents are left: %v", seed, last)
		}
		ports := make([]plan.IDs, 2)
		for i := 0; i < n; {
			m := min(1+r.IntN(2), n-i)
			ports[r.IntN(2)].Members(f, i, m)
			i += m
		}
		var tally plan.Tally
		var account plan.Account
		fate := plan.Filtered
		left := n
		for p := range ports {
			for i := range ports[p].Len() {
				if got := ports[p].At(i); got.Index != 0 || !slices.Contains(paths, got.Path) {
					t.Fatalf("seed %d: %+v is none of %v", seed, got, paths)
				}
				one := []plan.Fate{plan.Filtered, plan.Delivered, plan.Failed}[r.IntN(3)]
				fate |= one
				tally.Settle(&ports[p], i, i+1, one)
				account.Add(&tally)
				if left--; left > 0 && settled(&account) != (counts{}) {
					t.Fatalf("seed %d: settled with %d alive", seed, left)
				}
			}
		}
		var want counts
		switch {
		case fate&plan.Failed != 0:
			want.failed = int64(of)
		case fate&plan.Delivered != 0:
			want.delivered = int64(of)
		default:
			want.filtered = int64(of)
		}
		if got := settled(&account); got != want {
			t.Fatalf("seed %d: settled %+v, want %+v", seed, got, want)
		}
	}
}

// What comes back from another process stands in the order of a fork where what was sent there stood.
func TestForeignItemsStandWhereTheirParentsStood(t *testing.T) {
	const fork = 3
	var source, branch, out plan.IDs
	source.Source(0, 0, 0, 4)
	round := &plan.OpenRound{Fork: fork}
	f, n := plan.NewSplit(source.From(0), 4, round, 0, 1)
	branch.Split(f, 0, n, 0)
	round.Close(5)
	var want []uint64
	for i := range n {
		at := branch.From(i)
		where, _, _, ok := at.Position(fork)
		if !ok {
			t.Fatalf("no position at %d", i)
		}
		paths := []string{".0.0", ".2", ".7"}[:1+i%3]
		out.Foreign(new(plan.Tally), at.Peek(), paths)
		for range paths {
			want = append(want, where)
		}
	}
	for i := range out.Len() {
		at := out.From(i)
		got, n, step, ok := at.Position(fork)
		if !ok || got != want[i] || step != 0 {
			t.Errorf("item %d stands at %d (%v, step %d), want %d", i, got, ok, step, want[i])
		}
		for k := range n {
			if want[i+k] != got {
				t.Errorf("item %d is said to stand at %d, too, but it stands at %d", i+k, got, want[i+k])
			}
		}
	}
}

// What a long path was part of is not kept by a family that lives on in a slab.
func TestASlabDoesNotKeepForeignFamilies(t *testing.T) {
	var tally plan.Tally
	var parent, living, dead plan.IDs
	parent.Source(0, 0, 0, 1)
	living.Kids(&tally, first(&parent), 2)
	foreign := plan.NewForeign(&parent, []string{strings.Repeat(".1", 100)})
	w := weak.Make(foreign)
	dead.Members(foreign, 0, 1)
	foreign = nil
	tally.Settle(&dead, 0, 1, plan.Delivered)
	dead.Reset()
	runtime.GC()
	if w.Value() != nil {
		t.Error("it is still reachable")
	}
	runtime.KeepAlive(&living)
	runtime.KeepAlive(&tally)
}
