package stages

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func count(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// The order is promised: whoever resumes a run, on another machine and with another version, depends on it.
func TestShuffledKeepsItsOrderForGood(t *testing.T) {
	for _, c := range []struct {
		seed  uint64
		epoch int
		want  string
	}{
		{0, 0, "2 7 4 6 3 5 8 0 9 1"},
		{0, 1, "1 0 2 5 7 3 4 8 6 9"},
		{1, 0, "5 1 7 3 8 2 9 4 0 6"},
		{math.MaxUint64, 41, "8 9 5 4 0 7 1 6 3 2"},
	} {
		if got := strings.Join(at(t.Context(), Shuffled(count(10), c.seed), Position{Epoch: c.epoch}, 99), " "); got != c.want {
			t.Errorf("seed %d, epoch %d: %s, want %s", c.seed, c.epoch, got, c.want)
		}
	}
}

// It is the order of which the documentation tells, in numbers without bounds.
func TestShuffledDrawsAsItSays(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 100} {
		want, pcg := count(n), rand.NewPCG(7, 3)
		for i := range want {
			far := new(big.Int).Mul(new(big.Int).SetUint64(pcg.Uint64()), big.NewInt(int64(n-i)))
			j := i + int(far.Rsh(far, 64).Int64())
			want[i], want[j] = want[j], want[i]
		}
		for from := range n + 1 { // and begins at any position
			var got []int
			for v := range Shuffled(count(n), 7).open(t.Context(), Position{3, int64(from)}) {
				got = append(got, v)
			}
			if !slices.Equal(got, want[from:]) {
				t.Errorf("%d elements from %d: %v, want %v", n, from, got, want[from:])
			}
		}
	}
}

// Neighbouring epochs and seeds must not resemble each other: each element is as likely at each place as any other.
func TestShuffledFavoursNoPlace(t *testing.T) {
	const n, draws = 8, 20_000
	for name, draw := range map[string]func(i int) *order{
		"epochs":           func(i int) *order { return newOrder(n, 0, i) },
		"seeds":            func(i int) *order { return newOrder(n, uint64(i), 0) },
		"epochs of a seed": func(i int) *order { return newOrder(n, 0xdecafbad, i) },
	} {
		var at, follows [n][n]int
		for i := range draws {
			o := draw(i)
			before := o.next(0)
			at[0][before]++
			for k := 1; k < n; k++ {
				v := o.next(k)
				at[k][v]++
				follows[before][v]++
				before = v
			}
		}
		var places, pairs float64 // chi-square
		for i := range n {
			for j := range n {
				const e = float64(draws) / n
				places += (float64(at[i][j]) - e) * (float64(at[i][j]) - e) / e
				if i != j {
					pairs += (float64(follows[i][j]) - e) * (float64(follows[i][j]) - e) / e
				}
			}
		}
		// 49 and 41 degrees of freedom: 99.9 % of true permutations stay below 86 and 75.
		if places > 86 || pairs > 75 {
			t.Errorf("%s: chi-square %.0f of places, %.0f of neighbours", name, places, pairs)
		}
	}
}

func TestShuffledHasEveryElementOnceAndAnotherOrderEachEpoch(t *testing.T) {
	o, seen := Shuffled(count(1000), 1), map[string]bool{}
	for epoch := range 5 {
		var got []int
		for v, err := range o.open(t.Context(), Position{Epoch: epoch}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
		seen[fmt.Sprint(got)] = true
		slices.Sort(got)
		if !slices.Equal(got, count(1000)) {
			t.Errorf("epoch %d: %v", epoch, got)
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d orders in 5 epochs", len(seen))
	}
}

// letters yields a, b, c...; those in bad are failed items, and fatal ends the source.
func letters(n int, bad, fatal string) Origin[string] {
	return FromSeq(func(context.Context) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for i := range n {
				v := string(rune('a' + i))
				var err error
				if strings.Contains(bad, v) {
					err = errors.New("bad " + v)
				}
				if strings.Contains(fatal, v) {
					yield(v, Fatal(errors.New("fatal "+v)))
					return
				}
				if !yield(v, err) {
					return
				}
			}
		}
	})
}

func TestShardsShareTheItems(t *testing.T) {
	for name, c := range map[string]struct {
		from  Origin[string]
		world int
		want  []string // of each rank
	}{
		"one rank has it all":                     {letters(5, "", ""), 1, []string{"a b c d e"}},
		"an equal share":                          {letters(6, "", ""), 3, []string{"a d", "b e", "c f"}},
		"one is left over":                        {letters(7, "", ""), 3, []string{"a d", "b e", "c f"}},
		"world-1 are left over":                   {letters(8, "", ""), 3, []string{"a d", "b e", "c f"}},
		"fewer items than ranks":                  {letters(2, "", ""), 3, []string{"", "", ""}},
		"no items":                                {letters(0, "", ""), 2, []string{"", ""}},
		"a failed item belongs to one rank":       {letters(6, "bf", ""), 3, []string{"a d", "bad b e", "c bad f"}},
		"a failed one of those left over":         {letters(5, "e", ""), 3, []string{"a", "b bad e", "c"}},
		"nothing but failures":                    {letters(4, "abcd", ""), 2, []string{"bad a bad c", "bad b bad d"}},
		"the source fails in front of every rank": {letters(6, "", "e"), 3, []string{"a fatal e", "b fatal e", "c fatal e"}},
		"the source fails at once":                {letters(6, "", "a"), 2, []string{"fatal a", "fatal a"}},
		"shards of a shard":                       {Shard(letters(9, "", ""), 1, 2), 2, []string{"b f", "d h"}},
	} {
		for rank, want := range c.want {
			o := Shard(c.from, rank, c.world)
			got := at(t.Context(), o, Position{}, 99)
			if strings.Join(got, " ") != want {
				t.Errorf("%s: rank %d: %q, want %q", name, rank, got, want)
			}
			for i := range got { // and it begins at any position
				if rest := at(t.Context(), o, Position{Index: int64(i)}, 99); !slices.Equal(rest, got[i:]) {
					t.Errorf("%s: rank %d from %d: %q, want %q", name, rank, i, rest, got[i:])
				}
			}
		}
	}
}

func TestAShardIsEnteredWhereItsRankBegins(t *testing.T) {
	var opened []Position
	from := FromFunc(func(_ context.Context, p Position) iter.Seq2[int64, error] {
		opened = append(opened, p)
		return func(yield func(int64, error) bool) {
			for i := p.Index; i < 100 && yield(i, nil); i++ {
			}
		}
	})
	if got := at(t.Context(), Shard(from, 1, 4), Position{2, 5}, 2); !slices.Equal(got, []string{"21", "25"}) {
		t.Errorf("got %q", got)
	}
	if !slices.Equal(opened, []Position{{2, 20}}) {
		t.Errorf("opened at %v", opened)
	}
}

// All ranks draw the same order, so no item comes twice, whatever the epoch.
func TestShardsOfAShuffledSourceAreDisjoint(t *testing.T) {
	for epoch := range 3 {
		var all []int
		for rank := range 4 {
			var mine []int
			for v := range Shard(Shuffled(count(42), 9), rank, 4).open(t.Context(), Position{Epoch: epoch}) {
				mine = append(mine, v)
			}
			if len(mine) != 10 {
				t.Errorf("rank %d has %d items", rank, len(mine))
			}
			all = append(all, mine...)
		}
		slices.Sort(all)
		if n := len(slices.Compact(all)); n != 40 {
			t.Errorf("%d different items of 40", n)
		}
	}
}

func TestShardsOfFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := at(t.Context(), Shard(FromFiles(dir), 1, 2), Position{}, 9)
	if want := []string{filepath.Join(dir, "1"), filepath.Join(dir, "3")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := at(t.Context(), Shard(FromFiles(filepath.Join(dir, "none")), 1, 2), Position{}, 9); len(got) != 1 || !strings.Contains(got[0], "none") {
		t.Errorf("a folder that is not there: %q", got)
	}
}

func TestAShardThatIsNotWantedPullsNothingMore(t *testing.T) {
	pulled := 0
	from := FromSeq(func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for ; yield(pulled, nil); pulled++ {
			}
		}
	})
	if at(t.Context(), Shard(from, 0, 3), Position{}, 2); pulled != 5 {
		t.Errorf("%d items were pulled before the last one, want 5: two rounds", pulled)
	}
}

func TestShardsThatMakeNoSenseAreFaults(t *testing.T) {
	one := FromSlice([]string{"a"})
	for want, o := range map[string]Origin[string]{
		"a shard of 0, want at least 1":        Shard(one, 0, 0),
		"a shard of -2, want at least 1":       Shard(one, 0, -2),
		"shard 3 of 3, want 0 to 2":            Shard(one, 3, 3),
		"shard -1 of 3, want 0 to 2":           Shard(one, -1, 3),
		"its origin is empty":                  Shard(Origin[string]{}, 0, 1),
		`the folder is ""`:                     Shard(FromFiles(""), 0, 1),
		"current one; shard 1 of 1, want 0 to": Shard(FromFiles(""), 1, 1),
	} {
		err := Define("p", func(g *Graph, _ struct{}) Stream[string] { return Source(g, "s", o) }).With(struct{}{}).Err()
		if e, ok := errors.AsType[*DefinitionError](err); !ok || !strings.Contains(e.Reason, want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if !Shard(FromChan(make(chan int)), 0, 2).local {
		t.Error("a shard of a channel stays where the channel is")
	}
}

func TestAnItemOfAShardIsNotAllocated(t *testing.T) {
	const n = 3000
	o, s := Shard(Shuffled(count(n), 1), 1, 3), 0
	allocs := testing.AllocsPerRun(10, func() {
		for v := range o.open(t.Context(), Position{}) {
			s += v
		}
	})
	if allocs > 20 {
		t.Errorf("%v allocations for %d items", allocs, n)
	}
}
