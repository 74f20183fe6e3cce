package stages

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
)

// at opens an origin and collects at most n pairs; an error stands as its text.
func at[T any](ctx context.Context, o Origin[T], from Position, n int) (got []string) {
	for v, err := range o.open(ctx, from) {
		if err != nil {
			got = append(got, err.Error())
		} else {
			got = append(got, fmt.Sprint(v))
		}
		if n--; n == 0 {
			break
		}
	}
	return got
}

func TestFromSliceBeginsAtAnyPosition(t *testing.T) {
	slice := []string{"a", "b", "c"}
	for _, c := range []struct {
		from Position
		n    int
		want []string
	}{
		{Position{}, 9, []string{"a", "b", "c"}},
		{Position{Index: 1}, 9, []string{"b", "c"}},
		{Position{Epoch: 7, Index: 2}, 9, []string{"c"}},
		{Position{Index: 3}, 9, nil},
		{Position{Index: 100}, 9, nil},
		{Position{Index: 1}, 1, []string{"b"}},
	} {
		if got := at(t.Context(), FromSlice(slice), c.from, c.n); !slices.Equal(got, c.want) {
			t.Errorf("from %+v: %q, want %q", c.from, got, c.want)
		}
	}
	if got := at(t.Context(), FromSlice[int](nil), Position{}, 9); got != nil {
		t.Errorf("out of nothing: %q", got)
	}
}

func TestFromSeqThrowsAwayWhatLiesBefore(t *testing.T) {
	opened, ended := 0, 0
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, true)
	o := FromSeq(func(c context.Context) iter.Seq2[int, error] {
		if c.Value(key{}) == nil {
			t.Error("it has another context")
		}
		opened++
		return func(yield func(int, error) bool) {
			defer func() { ended++ }()
			for i := range 5 {
				var err error
				if i == 2 {
					err = errors.New("bad")
				}
				if !yield(i, err) {
					return
				}
			}
		}
	})
	for _, c := range []struct {
		index int64
		n     int
		want  []string
	}{
		{0, 9, []string{"0", "1", "bad", "3", "4"}},
		{1, 9, []string{"1", "bad", "3", "4"}},
		{2, 9, []string{"bad", "3", "4"}},
		{3, 9, []string{"3", "4"}}, // the failed item has a position too
		{5, 9, nil}, {50, 9, nil},
		{1, 2, []string{"1", "bad"}},
		{0, 1, []string{"0"}},
	} {
		if got := at(ctx, o, Position{Index: c.index}, c.n); !slices.Equal(got, c.want) {
			t.Errorf("from %d: %q, want %q", c.index, got, c.want)
		}
	}
	if opened != 8 || ended != 8 {
		t.Errorf("opened %d times, ended %d times, want 8", opened, ended)
	}
}

func TestFromFuncIsGivenThePosition(t *testing.T) {
	o := FromFunc(func(_ context.Context, from Position) iter.Seq2[Position, error] {
		return func(yield func(Position, error) bool) { yield(from, nil) }
	})
	if got := at(t.Context(), o, Position{3, 14}, 9); !slices.Equal(got, []string{"{3 14}"}) {
		t.Errorf("got %q", got)
	}
}

func TestFromChanEndsWithTheChannelOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int, 3)
		c <- 1
		c <- 2
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		done := make(chan bool)
		go func() {
			got = at(ctx, FromChan(c), Position{}, 9)
			close(done)
		}()
		synctest.Wait() // it waits for the third
		cancel()
		<-done
		if !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("got %q", got)
		}
		c <- 3
		close(c)
		if got := at(t.Context(), FromChan(c), Position{}, 9); !slices.Equal(got, []string{"3"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestOriginsOfNothingAreEmpty(t *testing.T) {
	if FromSeq[int](nil).open != nil || FromFunc[int](nil).open != nil || FromChan[int](nil).open != nil {
		t.Error("they can be opened")
	}
	if !FromChan(make(chan int)).local || FromSlice([]int{}).local {
		t.Error("a channel stays where it is, and nothing else does")
	}
}
