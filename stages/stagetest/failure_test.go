package stagetest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/stagetest"
)

// Nobody waits for a pause, however long it is.
func TestAnItemIsTriedAgainAsRetrySays(t *testing.T) {
	isBad := func(err error) bool { return errors.Is(err, errBad) }
	panics := errors.New("that the function panics")
	for name, c := range map[string]struct {
		err      error
		opts     []stages.Option
		attempts int
	}{
		"an error":                     {errBad, nil, 1},
		"one that is marked":           {stages.Retryable(errBad), nil, 3},
		"one that is asked for":        {errBad, []stages.Option{stages.Retry{If: isBad}}, 3},
		"one that is not":              {errors.New("other"), []stages.Option{stages.Retry{If: isBad}}, 1},
		"one that is Fatal":            {stages.Fatal(errBad), []stages.Option{stages.Retry{If: isBad}}, 1},
		"five attempts, hours apart":   {stages.Retryable(errBad), []stages.Option{stages.Retry{Attempts: 5, First: time.Hour}}, 5},
		"one attempt":                  {stages.Retryable(errBad), []stages.Option{stages.Retry{Attempts: 1}}, 1},
		"a panic":                      {panics, nil, 3},
		"a panic, five attempts":       {panics, []stages.Option{stages.Retry{Attempts: 5}}, 5},
		"a panic, and only one":        {panics, []stages.Option{stages.Retry{Attempts: 1}}, 1},
		"a panic, and nobody is asked": {panics, []stages.Option{stages.Retry{If: func(error) bool { return false }}}, 3},
	} {
		for _, good := range []int{0, 1, c.attempts - 1, c.attempts} { // the first so many attempts fail
			t.Run(fmt.Sprintf("%s, well after %d", name, good), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begun, calls := time.Now(), 0
					got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] {
						return stages.Map(in, "f", func(ctx context.Context, v int) (int, error) {
							if calls++; stages.Attempt(ctx) != calls {
								t.Errorf("call %d is attempt %d", calls, stages.Attempt(ctx))
							}
							if calls <= good && c.err == panics {
								panic("told to")
							}
							if calls <= good {
								return 0, c.err
							}
							return v, nil
						}, append(c.opts, stages.OnError(stages.Skip(1)))...)
					}, 1)
					fails := good >= c.attempts
					if fails != (len(got.Failed) == 1) || fails == (len(got.Out) == 1) || calls != min(good+1, c.attempts) {
						t.Fatalf("%d calls, %+v", calls, got)
					}
					if fails && got.Failed[0].Attempts != c.attempts {
						t.Errorf("%d attempts, want %d", got.Failed[0].Attempts, c.attempts)
					}
					if !time.Now().Equal(begun) {
						t.Errorf("it took %v", time.Since(begun))
					}
				})
			})
		}
	}
}

// What of an earlier attempt has been handed on does not come again.
func TestAStreamingStageIsTriedAgainWhereItWas(t *testing.T) {
	got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] {
		return stages.FlatMap(in, "f", func(ctx context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for i := range 3 {
					if i == stages.Attempt(ctx) { // behind the first output, then behind the second
						yield(0, stages.Retryable(errBad))
						return
					}
					if !yield(v+i, nil) {
						return
					}
				}
			}
		}, stages.Streaming)
	}, 10, 20)
	if want := []int{10, 11, 12, 20, 21, 22}; !slices.Equal(got.Out, want) || got.Err != nil {
		t.Errorf("got %+v, want %v", got, want)
	}
}

func TestWorkersAreReplacedAsRestartSays(t *testing.T) {
	second := stages.Restart{Max: 3, Within: time.Second, First: time.Second}
	for name, c := range map[string]struct {
		restart  stages.Restart
		restarts int // that there are
		counted  int
	}{
		"nothing is said":               {stages.Restart{}, 10, 10},
		"two":                           {stages.Restart{Max: 2}, 2, 2},
		"none":                          {stages.Restart{Max: -1}, 0, 0},
		"more than there are in a row":  {stages.Restart{Max: 50}, 10, 10},
		"with pauses as long as Within": {second, 10, 10},
		"and a little shorter":          {stages.Restart{Max: 3, Within: time.Second, First: time.Second / 9}, 3, 3}, // 0, 1/9 and 2/9 s
	} {
		for what, die := range map[string]func(life int) error{
			"panics": func(int) error { panic("always") },
			"fails to open": func(int) error {
				return errBad
			},
		} {
			t.Run(name+", it "+what, func(t *testing.T) {
				lives := 0
				got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] {
					return stages.MapWith(in, "f", func(context.Context) (int, error) {
						lives++
						return lives, die(lives)
					}, func(_ int, _ context.Context, v int) (int, error) { return v, nil }, stages.OnError(stages.Skip(1000)), c.restart)
				}, upToN(10)...)
				e, ok := errors.AsType[*stages.RestartError](got.Err)
				if !ok || !errors.Is(e, stages.ErrRestarts) || e.Stage != "f" || e.Restarts != c.counted || lives != c.restarts+1 {
					t.Fatalf("%d lives, %+v", lives, got.Err)
				}
				if len(e.Causes) != min(lives, 9) || len(got.Out) > 0 || what == "fails to open" && !errors.Is(e, errBad) {
					t.Errorf("%v, causes %v", got.Out, e.Causes)
				}
			})
		}
	}
}

// Panics do not count while items are finished. Opens that fail do, until they are too long ago.
func TestWhatCountsWhileItemsAreFinished(t *testing.T) {
	for name, c := range map[string]struct {
		open    bool
		restart stages.Restart
		fails   bool
	}{
		"panics":                            {false, stages.Restart{Max: 1}, false},
		"failed opens":                      {true, stages.Restart{Max: 5}, true},
		"failed opens, as many as there be": {true, stages.Restart{Max: 21}, false},
		"failed opens, long ago":            {true, stages.Restart{Max: 5, Within: time.Second, First: time.Second}, false},
		"pauses do not grow":                {true, stages.Restart{Max: 4, Within: 3500 * time.Millisecond, First: time.Second}, true},
	} {
		t.Run(name, func(t *testing.T) {
			opens := 0
			got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] {
				return stages.MapWith(in, "f", func(context.Context) (int, error) {
					if opens++; c.open && opens%2 == 0 {
						return 0, errBad
					}
					return 0, nil
				}, func(_ int, ctx context.Context, v int) (int, error) {
					if stages.Attempt(ctx) == 1 {
						panic("once")
					}
					return v, nil
				}, c.restart)
			}, upToN(20)...)
			if errors.Is(got.Err, stages.ErrRestarts) != c.fails || !c.fails && (got.Err != nil || len(got.Out) != 20) {
				t.Errorf("%d items, %v", len(got.Out), got.Err)
			}
		})
	}
}

// The pause before another attempt is time, too.
func TestAnItemThatWaitsLetsDeathsBeLongAgo(t *testing.T) {
	for first, restarts := range map[time.Duration]int{time.Millisecond: 3, 2 * time.Second: 10} {
		got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] {
			return stages.Map(in, "f", func(context.Context, int) (int, error) { panic("always") },
				stages.Retry{Attempts: 100, First: first}, stages.Restart{Max: 3, Within: time.Second, First: time.Millisecond})
		}, 1)
		if e, ok := errors.AsType[*stages.RestartError](got.Err); !ok || e.Restarts != restarts {
			t.Errorf("%v: %v, want %d restarts", first, got.Err, restarts)
		}
	}
}

// A stage that shares another one's fate has its worker replaced, which is given what was held, and no death of it counts.
func TestWorkersAreReplacedTogether(t *testing.T) {
	var log []string
	got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[[]int] {
		a := stages.Map(in, "a", func(ctx context.Context, v int) (int, error) {
			log = append(log, fmt.Sprintf("a%d:%d", stages.Where(ctx).Incarnation, v))
			if v == 2 && stages.Attempt(ctx) == 1 {
				panic("once")
			}
			return v, nil
		}, stages.Restart{Together: []string{"b", "c"}})
		b := stages.Map(a, "b", func(ctx context.Context, v int) (int, error) {
			log = append(log, fmt.Sprintf("b%d:%d", stages.Where(ctx).Incarnation, v))
			return v, nil
		}, stages.Restart{Max: -1})
		return stages.Aggregate(b, "c", func(ctx context.Context) (*pack, error) {
			return &pack{told: func(ctx context.Context, v int) {
				log = append(log, fmt.Sprintf("c%d:%d", stages.Where(ctx).Incarnation, v))
			}}, nil
		})
	}, 1, 2, 3)
	want := "a1:1 b1:1 c1:1 a1:2 a2:2 b2:2 c2:1 c2:2 a2:3 b2:3 c2:3"
	if strings.Join(log, " ") != want || fmt.Sprint(got.Out) != "[[1 2 3]]" || got.Err != nil {
		t.Errorf("got %+v\n%s\n%s", got, strings.Join(log, " "), want)
	}
}

// A pack holds what it is given to the end of the epoch.
type pack struct {
	told func(context.Context, int)
	held []int
}

func (p *pack) Process(ctx context.Context, v int, _ func([]int) bool) error {
	p.told(ctx, v)
	p.held = append(p.held, v)
	return nil
}

func (p *pack) Held() int { return len(p.held) }

func (p *pack) Flush(_ context.Context, emit func([]int) bool) error {
	if len(p.held) > 0 {
		emit(p.held)
	}
	p.held = nil
	return nil
}

// A noSink is a place for letters that must not be opened.
type noSink struct{ t testing.TB }

func (s noSink) OpenLetters(context.Context) (stages.LetterWriter, error) {
	s.t.Error("a sink was opened")
	return nil, errBad
}

// A row is what is encoded in letters.
type row struct {
	N    int
	Name string
}

func TestWhatIsSkippedIsALetterFirst(t *testing.T) {
	sink := noSink{t}
	got := stagetest.Run(t, func(in stages.Stream[row]) stages.Stream[int] {
		n := stages.Map(in, "n", func(_ context.Context, r row) (int, error) {
			if r.N%2 == 1 {
				return 0, stages.Retryable(fmt.Errorf("row %d: %w", r.N, errBad))
			}
			return r.N, nil
		}, stages.OnError(stages.DeadLetter(sink, 2)))
		return stages.Map(n, "small", func(_ context.Context, n int) (int, error) {
			if n > 5 {
				panic("too large")
			}
			return n, nil
		}, stages.OnError(stages.DeadLetter(sink, stages.Fraction(1))))
	}, row{1, "a"}, row{2, "b"}, row{6, "c"}, row{3, "d"}, row{5, "e"}, row{7, "f"})

	if !slices.Equal(got.Out, []int{2}) || !errors.Is(got.Err, stages.ErrBudget) || len(got.Failed) != 4 {
		t.Errorf("got %+v", got)
	}
	// The one that exceeds the budget is handed over, too.
	for i, want := range []struct {
		stage, item, first string
		row                row
		n                  int
	}{
		{"n", "given/0/0", "row 1: bad", row{1, "a"}, 0},
		{"small", "given/0/2", "panic: too large", row{}, 6},
		{"n", "given/0/3", "row 3: bad", row{3, "d"}, 0},
		{"n", "given/0/4", "row 5: bad", row{5, "e"}, 0},
	} {
		if i >= len(got.Letters) {
			t.Fatalf("%d letters", len(got.Letters))
		}
		l := got.Letters[i]
		if l.Pipeline != "stagetest" || l.Stage != want.stage || l.Item.String() != want.item || l.Attempts != 3 || l.Time.IsZero() || l.Codec != "msgpack" {
			t.Errorf("letter %d: %+v", i, l)
		}
		if !strings.HasPrefix(l.Errors[0], want.first) || want.stage == "n" && !slices.Equal(l.Errors[1:], []string{"bad", "stages: retryable"}) {
			t.Errorf("letter %d: %q", i, l.Errors)
		}
		var r row
		var n int
		into := any(&r)
		if want.stage == "small" {
			into = &n
		}
		if err := (&msgpack.Codec{}).Decode(l.Payload, into); err != nil || r != want.row || n != want.n {
			t.Errorf("letter %d: %v, %v, %v", i, r, n, err)
		}
	}
	if len(got.Letters) != 4 {
		t.Errorf("%d letters", len(got.Letters))
	}
}

func TestWhatIsNoLetter(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		policy  stages.Policy
		letters int
	}{
		"what is skipped": {errBad, stages.Skip(5), 0},
		"what is fatal":   {stages.Fatal(errBad), stages.DeadLetter(noSink{t}, 5), 0},
		"no budget":       {errBad, stages.DeadLetter(noSink{t}, 0), 1},
	} {
		got := stagetest.Run(t, func(in stages.Stream[int]) stages.Stream[int] {
			return stages.Map(in, "f", func(context.Context, int) (int, error) { return 0, c.err }, stages.OnError(c.policy))
		}, 1)
		if len(got.Letters) != c.letters || len(got.Failed) != 1 || !errors.Is(got.Failed[0], errBad) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAnInputThatCannotBeALetterIsRefused(t *testing.T) {
	r := &recorder{ctx: t.Context()}
	func() {
		defer func() { _ = recover() }()
		stagetest.Run(r, func(in stages.Stream[func()]) stages.Stream[int] {
			return stages.Map(in, "f", func(context.Context, func()) (int, error) { return 0, nil }, stages.OnError(stages.DeadLetter(noSink{t}, 1)))
		}, func() {})
	}()
	if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], `the definition is refused: failure_test.go:`) || !strings.Contains(r.errors[0], `stage "f": its input cannot be a dead letter: `) || !strings.Contains(r.errors[0], codecs.ErrNotEncodable.Error()) {
		t.Errorf("got %q", r.errors)
	}
}

// A stubborn value does not let itself be encoded.
type stubborn struct{ Panics bool }

func (s stubborn) MarshalBinary() ([]byte, error) {
	if s.Panics {
		panic("never")
	}
	return nil, errBad
}

func (*stubborn) UnmarshalBinary([]byte) error { return nil }

// As in a run: nothing is dropped, so it fails.
func TestALetterThatCannotBeWrittenFailsTheRun(t *testing.T) {
	for _, v := range []stubborn{{false}, {true}} {
		got := stagetest.Run(t, func(in stages.Stream[stubborn]) stages.Stream[int] {
			return stages.Map(in, "f", func(context.Context, stubborn) (int, error) { return 0, errors.New("no") }, stages.OnError(stages.DeadLetter(noSink{t}, 9)))
		}, v, v)
		why := map[bool]string{false: "bad", true: "panic: never"}[v.Panics]
		if len(got.Letters) != 0 || len(got.Failed) != 0 || !strings.Contains(fmt.Sprint(got.Err), why) || !strings.Contains(fmt.Sprint(got.Err), "item given/0/0 failed: no") {
			t.Errorf("got %+v", got)
		}
	}
}
