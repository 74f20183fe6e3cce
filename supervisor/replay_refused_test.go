package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

var errPost = errors.New("the post is late")

// but is letters with one changed.
func but(letters []stages.Letter, i int, change func(*stages.Letter)) []stages.Letter {
	letters = slices.Clone(letters)
	change(&letters[i])
	return letters
}

func TestDeployRefusesLettersThatCannotBeRun(t *testing.T) {
	three := lettersOf("ten", 1, 2, 3)
	for _, c := range []struct {
		name    string
		letters iter.Seq2[stages.Letter, error]
		want    []string
	}{
		{"of a stage that there is not", post(three, lettersOf("tne", 1)), []string{`letter 4, of item ints/0/0`, `"tne": there is no such stage`, `"ten", "hundred", "spell"`}},
		{"of a source", post(lettersOf("ints", 1)), []string{`"ints": it is a source`, `run by "ten"`}},
		{"of a pipeline of another name", post(but(three, 1, func(l *stages.Letter) { l.Pipeline = "tset" })), []string{`letter 2`, `pipeline "tset", not of "test"`}},
		{"in another codec", post(but(three, 2, func(l *stages.Letter) { l.Codec = "cbor" })), []string{`letter 3`, `"cbor"`, `"msgpack"`}},
		{"all at once", post(lettersOf("a", 1), lettersOf("b", 1)), []string{`stage "a"`, `stage "b"`}},
		{"behind an error", func(yield func(stages.Letter, error) bool) {
			_ = yield(three[0], nil) && yield(stages.Letter{}, errPost)
		}, []string{"letter 2: the post is late"}},
		{"nil", nil, []string{"nil"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _, err := replay(t, steps(t), c.letters)
			if err == nil || out != nil {
				t.Fatalf("got %v, %v", out, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
		})
	}
}

func TestDeployStopsBetweenLetters(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	_, err := supervisor.Deploy(ctx, supervisor.New(supervisor.Config{}), steps(t), nil, supervisor.Replay(
		func(yield func(stages.Letter, error) bool) {
			for l := letter("ten", 0, 1); yield(l, nil); n++ {
				if n == 10 {
					cancel(errPost)
				}
			}
		}))
	if !errors.Is(err, errPost) || n > 11 {
		t.Errorf("got %v, after %d letters", err, n)
	}
}

func TestOptionsAreRefused(t *testing.T) {
	for name, opts := range map[string][]supervisor.DeployOption{
		"given twice": {supervisor.Replay(post()), supervisor.Replay(post())},
		"is nil":      {nil},
	} {
		for _, err := range supervisor.Items(t.Context(), supervisor.New(supervisor.Config{}), steps(t), nil, opts...) {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

// Faults of a definition are told once, and letters are not gone through then.
func TestAFaultyPipelineIsNotReplayed(t *testing.T) {
	p := define(func(g *stages.Graph) stages.Stream[int] {
		return stages.Map(stages.Source(g, "ints", ints(1)), "same", same, stages.Mailbox(0))
	})
	_, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), p, nil, supervisor.Replay(
		func(func(stages.Letter, error) bool) { t.Error("the letters were gone through") }))
	if err == nil || err.Error() != p.Err().Error() {
		t.Errorf("got %v, want %v", err, p.Err())
	}
}

func TestALetterThatDoesNotDecodeFailsTheRun(t *testing.T) {
	for name, payload := range map[string][]byte{"nothing": nil, "half": {0x92, 1}, "another type": lettersOf("x", "text")[0].Payload} {
		letters := but(lettersOf("hundred", 1, 2, 3), 1, func(l *stages.Letter) { l.Payload = payload })
		_, _, err := replay(t, steps(t), post(lettersOf("ten", 1, 2, 3), letters)) // numbered as they lie in the sequence
		item, ok := errors.AsType[*stages.ItemError](err)
		if !ok || item.Stage != "hundred: letters" || item.Item.Index != 1 || !strings.Contains(err.Error(), `letter 5, of item ints/0/1, which failed in stage "hundred", cannot be decoded: `) {
			t.Errorf("%s: got %v", name, err)
		}
		if !errors.Is(err, msgpack.ErrMalformed) && !errors.Is(err, msgpack.ErrMismatch) {
			t.Errorf("%s: got %v", name, err)
		}
		if !strings.HasSuffix(err.Error(), "leave it out of the sequence to go on without it") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// What lies in a letter is written by position: read as a type of another shape, it would be in the wrong fields.
func TestLettersOfAnotherShapeAreRefused(t *testing.T) {
	type item struct {
		Text, Path string
		N          int
	}
	p := define(func(g *stages.Graph) stages.Stream[item] {
		items := stages.Source(g, "items", stages.FromSlice[item](nil))
		return stages.Map(items, "work", func(_ context.Context, v item) (item, error) { return v, nil })
	})
	type before struct {
		Path, Text string
		N          int
	}
	letters := lettersOf("work", before{"a.txt", "hello", 7}, before{"b.txt", "hi", 8}, before{"c.txt", "ho", 9})
	for i := range letters[:2] {
		letters[i].Shape = codecs.Of[before]().Shape()
	}
	_, _, err := replay(t, p, post(but(letters, 0, func(l *stages.Letter) { l.Shape = codecs.Of[item]().Shape() })))
	want := `stages: replay: letter 2, of item ints/0/1, which failed in stage "work": ` +
		`the stage's input has changed since: field 1 was "Path string", and is "Text string"`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	// The second time, too: nothing of it is decoded.
	passes := 0
	got, _, err := replay(t, p, func(yield func(stages.Letter, error) bool) {
		passes++
		for _, l := range letters {
			if passes == 1 {
				l.Shape = ""
			}
			if !yield(l, nil) {
				return
			}
		}
	})
	if len(got) != 0 || err == nil || !strings.Contains(err.Error(), "letter 1") || !strings.Contains(err.Error(), `field 1 was "Path string"`) {
		t.Errorf("got %v, %v", got, err)
	}
	// Who clears the shape knows what he does.
	got, _, err = replay(t, p, post(letters[2:]))
	if err != nil || len(got) != 1 || got[0] != (item{"c.txt", "ho", 9}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// A letter that was being written when its program died was never handed over. Anything behind it is.
func TestALastLetterThatIsCutShortIsPassedOver(t *testing.T) {
	cut := fmt.Errorf("cut short: %w", io.ErrUnexpectedEOF)
	three := lettersOf("spell", 1, 2, 3)
	for name, c := range map[string]struct {
		behind int // so many letters is the error
		want   string
	}{
		"at the end":    {3, ""},
		"in the middle": {2, "letter 3: cut short"},
		"at the start":  {0, "letter 1: cut short"},
	} {
		got, _, err := replay(t, steps(t), func(yield func(stages.Letter, error) bool) {
			for i := range 4 {
				if i == c.behind && !yield(stages.Letter{}, cut) {
					return
				}
				if i < 3 && !yield(three[i], nil) {
					return
				}
			}
		})
		if c.want == "" && (err != nil || len(got) != 3) || c.want != "" && (!errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

// What Deploy has seen is what has to come: nothing is left out unseen.
func TestLettersMustBeTheSameEachTime(t *testing.T) {
	five := lettersOf("ten", 1, 2, 3, 4, 5)
	for _, c := range []struct {
		name  string
		later iter.Seq2[stages.Letter, error]
		want  string
	}{
		{"one is missing", post(five[:4]), "4 have come, and there were 5"},
		{"all are missing", post(), "0 have come, and there were 5"},
		{"they are of another stage", post(lettersOf("spell", 1, 2, 3, 4, 5)), "0 have come, and there were 5"},
		{"one is another", post(but(five, 2, func(l *stages.Letter) { l.Payload = five[0].Payload })), "not those that there were"},
		{"one is of another item", post(but(five, 2, func(l *stages.Letter) { l.Item.Index = 99 })), "not those that there were"},
		{"their order is another", post(five[1:], five[:1]), "not those that there were"},
		{"an error", func(yield func(stages.Letter, error) bool) { _ = yield(five[0], nil) && yield(five[1], errPost) }, "behind 1 of 5: the post is late"},
		{"more are not looked at", post(five, lettersOf("ten", 6), lettersOf("nobody's", 7)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			passes := 0
			got, _, err := replay(t, steps(t), func(yield func(stages.Letter, error) bool) {
				if passes++; passes == 1 {
					post(five)(yield)
				} else {
					c.later(yield)
				}
			})
			switch {
			case c.want == "" && (err != nil || len(got) != 5):
				t.Errorf("got %v, %v", got, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `stage "ten"`)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A sequence that dies is gone through again, behind what it has given: no letter comes twice.
func TestASequenceOfLettersMayDieOnce(t *testing.T) {
	passes := 0
	got, _, err := replay(t, steps(t), func(yield func(stages.Letter, error) bool) {
		passes++
		for i, l := range lettersOf("ten", 1, 2, 3, 4, 5) {
			if passes == 2 && i == 3 {
				panic("mine")
			}
			if !yield(l, nil) {
				return
			}
		}
	})
	if want := []string{"<111>", "<112>", "<113>", "<114>", "<115>"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// mailbag is n letters of two stages, of which passed counts those that were taken.
func mailbag(n int, passed *atomic.Int64) iter.Seq2[stages.Letter, error] {
	a, b := letter("ten", 0, 1), letter("spell", 0, 1)
	return func(yield func(stages.Letter, error) bool) {
		for i := range n {
			l := a
			if i%2 == 1 {
				l = b
			}
			l.Item.Index = int64(i)
			passed.Add(1)
			if !yield(l, nil) {
				return
			}
		}
	}
}

func TestLettersAreReadAsFastAsTheyAreTaken(t *testing.T) {
	const n, most = 100_000, 1000
	synctest.Test(t, func(t *testing.T) {
		var passed atomic.Int64
		run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), steps(t), nil, supervisor.Replay(mailbag(n, &passed)))
		if err != nil || passed.Load() < n {
			t.Fatalf("%v, after %d letters", err, passed.Load())
		}
		if _, err := run.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if ahead := passed.Load() - n; ahead > most {
			t.Errorf("%d letters were read for one that was taken", ahead)
		}
		if err := run.Stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAHundredThousandLettersTakeNoMemory(t *testing.T) {
	const n, most = 100_000, 16 << 20
	var passed atomic.Int64
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got := 0
	for _, err := range supervisor.Items(t.Context(), supervisor.New(supervisor.Config{}), steps(t), nil, supervisor.Replay(mailbag(n, &passed))) {
		if err != nil {
			t.Fatal(err)
		}
		if got++; got == n/2 {
			runtime.GC()
			runtime.ReadMemStats(&during)
		}
	}
	if got != n {
		t.Errorf("%d items came of %d letters", got, n)
	}
	if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > most {
		t.Errorf("%d bytes are in use in the middle", grown)
	}
}

func TestADrainedReplayEndsBehindWhatItHasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var passed atomic.Int64
		run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), steps(t), nil, supervisor.Replay(mailbag(100_000, &passed)))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, err := range run.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if got++; got == 10 {
				run.Drain()
			}
		}
		if s := run.Stats(); got >= 100_000 || s.Yielded != int64(got) || s.InFlight != 0 {
			t.Errorf("%d items of %d, %d are in flight", got, s.Yielded, s.InFlight)
		}
		run.Stop()
	})
}
