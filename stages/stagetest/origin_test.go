package stagetest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/stagetest"
)

// A recorder is a testing.TB that remembers what was reported. A method it lacks panics, which a test then sees.
type recorder struct {
	testing.TB
	ctx    context.Context // of the test that it stands for
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// from makes an origin of a function that yields what comes after from.
func from(f func(ctx context.Context, from stages.Position, yield func(int, error) bool)) stages.Origin[int] {
	return stages.FromFunc(func(ctx context.Context, from stages.Position) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) { f(ctx, from, yield) }
	})
}

func (r *recorder) Logf(string, ...any) {}

// Fatalf ends what is tested, for the caller to recover.
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

// upTo yields the numbers from begin to end-1.
func upTo(begin, end int, yield func(int, error) bool) bool {
	for i := begin; i < end; i++ {
		if !yield(i, nil) {
			return false
		}
	}
	return true
}

func TestAnOriginThatKeepsTheRulesPasses(t *testing.T) {
	numbers := make([]int, 2500)
	for i := range numbers {
		numbers[i] = i
	}
	endless := stages.FromSeq(func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) { upTo(0, 1<<40, yield) }
	})
	opened := 0
	for name, o := range map[string]stages.Origin[int]{
		"two items":                stages.FromSlice(numbers[:2]),
		"three items":              stages.FromSlice(numbers[:3]),
		"more than are looked at":  stages.FromSlice(numbers),
		"as many as are looked at": stages.FromSlice(numbers[:1000]),
		"one fewer":                stages.FromSlice(numbers[:999]),
		"a sequence without end":   endless,
		"shuffled":                 stages.Shuffled(numbers[:100], 7),
		"a shard":                  stages.Shard(stages.Shuffled(numbers[:100], 7), 2, 3),
		"a shard without end":      stages.Shard(endless, 1, 4),
		"nothing in epoch 1": from(func(_ context.Context, p stages.Position, yield func(int, error) bool) {
			if p.Epoch == 0 {
				upTo(int(p.Index), 10, yield)
			}
		}),
		"failed items that are not the same each time": from(func(_ context.Context, p stages.Position, yield func(int, error) bool) {
			opened++
			for i := int(p.Index); i < 10; i++ {
				v, err := i, error(nil)
				if i%3 == 0 {
					v, err = opened, fmt.Errorf("for the %d. time", opened)
				}
				if !yield(v, err) {
					return
				}
			}
		}),
		"it watches its context": from(func(ctx context.Context, p stages.Position, yield func(int, error) bool) {
			for i := int(p.Index); i < 10; i++ {
				if ctx.Err() != nil {
					yield(0, ctx.Err())
					return
				}
				if !yield(i, nil) {
					return
				}
			}
		}),
	} {
		t.Run(name, func(t *testing.T) { stagetest.Origin(t, o) })
	}
}

func TestFilesPass(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stagetest.Origin(t, stages.FromFiles(dir))
}

// A source may be slow, as long as something comes.
func TestASlowOriginPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stagetest.Origin(t, from(func(ctx context.Context, p stages.Position, yield func(int, error) bool) {
			for i := int(p.Index); i < 20; i++ {
				select {
				case <-time.After(9 * time.Second):
				case <-ctx.Done():
					return
				}
				if !yield(i, nil) {
					return
				}
			}
		}))
	})
}

// Every rule is broken by one of these, in the place that it speaks of.
func TestAnOriginThatBreaksARuleIsReported(t *testing.T) {
	opened := 0 // reset for each
	for name, c := range map[string]struct {
		want string
		from func(ctx context.Context, p stages.Position, release chan bool, yield func(int, error) bool)
	}{
		"it ignores the index": {"epoch 0, opened at index 1: item 1 is 0, and was 1 at first", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			upTo(0, 10, yield)
		}},
		"it begins one too late": {"epoch 0, opened at index 1: item 1 is 2, and was 1 at first", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			upTo(int(p.Index+min(p.Index, 1)), 10, yield)
		}},
		"only its end cannot be entered": {"epoch 0, opened at index 10: it goes on after 0 items, the last one at first", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			upTo(int(min(p.Index, 9)), 10, yield)
		}},
		"only epoch 1 ignores the index": {"epoch 1, opened at index 1: item 1 is 0, and was 1 at first", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			upTo(int(p.Index)*(1-p.Epoch), 10, yield)
		}},
		"it counts the items up to the end from there": {"epoch 0, opened at index 1: it goes on after 9 items", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			upTo(int(p.Index), 10+int(p.Index), yield)
		}},
		"it panics at its end": {"epoch 0, opened at index 10: it panicked: index", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			if p.Index == 10 {
				panic("index")
			}
			upTo(int(p.Index), 10, yield)
		}},
		"it goes on where it was left": {"epoch 0, left behind its first item: item 0 is 10, and was 0 at first", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			upTo(opened*10, opened*10+10, yield)
		}},
		"it is used up by the second time": {"epoch 0, opened again: it ends after 0 items, want 10", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			if opened < 2 {
				upTo(int(p.Index), 10, yield)
			}
		}},
		"an item fails once only": {"epoch 0, left behind its first item: item 0 is 0, and was a failed item at first", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			var err error
			if opened == 0 {
				err = errors.New("bad")
			}
			_ = yield(0, err) && upTo(max(1, int(p.Index)), 10, yield)
		}},
		"it goes on when it is left": {"epoch 0, left behind its first item: it panicked: runtime error: range function continued iteration", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			for i := int(p.Index); i < 10; i++ {
				yield(i, nil)
			}
		}},
		"it does not return when it is left": {"epoch 0, left behind its first item: it does not return, 10s after it was told to", func(_ context.Context, p stages.Position, release chan bool, yield func(int, error) bool) {
			if !upTo(int(p.Index), 10, yield) {
				<-release
			}
		}},
		"it ignores a context that has ended": {"epoch 0, opened under a context that has ended: it does not return", func(ctx context.Context, p stages.Position, release chan bool, yield func(int, error) bool) {
			if ctx.Err() != nil {
				<-release
			}
			upTo(int(p.Index), 10, yield)
		}},
		"it ignores a context that ends": {"epoch 0, its context ended after 1 items: it does not return", func(ctx context.Context, p stages.Position, release chan bool, yield func(int, error) bool) {
			if ctx.Err() != nil {
				return
			}
			for i := int(p.Index); i < 10; i++ {
				if !yield(i, nil) {
					return
				}
				if ctx.Err() != nil {
					<-release
				}
			}
		}},
		"it panics when its context ends": {"epoch 0, its context ended after 5 items: it panicked: late", func(ctx context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			for i := int(p.Index); i < 10 && ctx.Err() == nil; i++ {
				if !yield(i, nil) {
					return
				}
				if i == 4 && ctx.Err() != nil {
					panic("late")
				}
			}
		}},
		"the end of its context is what it remembers": {"epoch 0, opened after all that: it ends after 0 items", func(ctx context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			if opened >= 0 {
				upTo(int(p.Index), 10, yield)
			}
			if ctx.Err() != nil {
				opened = -100
			}
		}},
		"nothing comes": {"epoch 0, from its beginning: it yielded nothing for 10s, and does not return when its context ends", func(_ context.Context, _ stages.Position, release chan bool, _ func(int, error) bool) {
			<-release
		}},
		"nothing comes before its context ends": {"epoch 0, from its beginning: it yielded nothing for 10s", func(ctx context.Context, _ stages.Position, _ chan bool, yield func(int, error) bool) {
			_ = upTo(0, 5, yield)
			<-ctx.Done()
		}},
		"it ends its goroutine": {"epoch 0, from its beginning: it ended its goroutine: runtime.Goexit was called", func(context.Context, stages.Position, chan bool, func(int, error) bool) {
			runtime.Goexit()
		}},
		"one item": {"epoch 0 has 1 items, want at least 2", func(_ context.Context, p stages.Position, _ chan bool, yield func(int, error) bool) {
			upTo(int(p.Index), 1, yield)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opened = 0
				release := make(chan bool)
				defer close(release)
				r := &recorder{ctx: t.Context()}
				stagetest.Origin(r, from(func(ctx context.Context, p stages.Position, yield func(int, error) bool) {
					defer func() { opened++ }()
					c.from(ctx, p, release, yield)
				}))
				if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], c.want) {
					t.Errorf("got  %q\nwant %q", r.errors, c.want)
				}
			})
		})
	}
}

func TestAnOriginThatCannotBeTestedIsReported(t *testing.T) {
	for want, o := range map[string]stages.Origin[string]{
		"the origin is refused: the folder is":   stages.FromFiles(""),
		"the origin is empty":                    {},
		"the origin can be opened only once":     stages.FromChan(make(chan string)),
		"epoch 0 has 0 items, want at least 2":   stages.FromSlice([]string(nil)),
		"epoch 0, from its beginning: it panick": stages.FromFunc(func(context.Context, stages.Position) iter.Seq2[string, error] { return nil }),
	} {
		r := &recorder{ctx: t.Context()}
		stagetest.Origin(r, o)
		if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], want) {
			t.Errorf("got  %q\nwant %q", r.errors, want)
		}
	}
}
