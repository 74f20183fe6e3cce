package shapes

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
	"github.com/weirflow/weir/supervisor/supervisortest"
)

var sup *supervisor.Supervisor // set by TestMain

func TestMain(m *testing.M) {
	sup = supervisor.Main(Means, Buckets, Embeddings, Merged)
	os.Exit(m.Run())
}

// everywhere runs a pipeline to its end at every placement, and has check look at what comes out.
func everywhere[T any](t *testing.T, p stages.Pipeline[T], check func(t *testing.T, got []T)) {
	for name, at := range supervisortest.Placements(t, sup, p) {
		t.Run(name, func(t *testing.T) {
			got, err := supervisortest.Collect(t, sup, p, at)
			if err != nil {
				t.Fatal(err)
			}
			check(t, got)
		})
	}
}

func equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// In a bubble of synctest time jumps on whenever all goroutines wait, so that this takes no time, and comes out the same
// each time.
func TestMeansComeEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := time.Millisecond
		got, err := supervisortest.Collect(t, supervisor.New(supervisor.Config{}), Means.With(Sensors{Every: time.Second, Readings: []Reading{
			{0, "a", 1}, {300 * ms, "b", 10}, {300 * ms, "a", 3}, // at 0, 0.3 and 0.6 s: they leave at 1 s
			{500 * ms, "b", 20}, {800 * ms, "a", 5}, // at 1.1 and 1.9 s: they leave at 2.1 s
			{400 * ms, "a", 7}, // at 2.3 s: it leaves at the end
		}}), supervisor.InProcess{})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, got, []Mean{{"a", 2, 2}, {"b", 10, 1}, {"a", 5, 1}, {"b", 20, 1}, {"a", 7, 1}})
	})
}

func TestTextsAreInBatchesOfTheirLength(t *testing.T) {
	var texts []string
	for i := range 900 {
		texts = append(texts, strings.Repeat("x", 1+i*7%90))
	}
	everywhere(t, Buckets.With(Corpus{Texts: texts, Bytes: 512}), func(t *testing.T, batches [][]string) {
		n := map[int]int{}
		for _, batch := range batches {
			key := bucketOf(batch[0])
			if len(batch) > 512/key {
				t.Errorf("%d texts of up to %d bytes in a batch of 512", len(batch), key)
			}
			for _, s := range batch {
				if bucketOf(s) != key {
					t.Errorf("lengths %d and %d in one batch", len(batch[0]), len(s))
				}
				n[key]++
			}
		}
		equal(t, n, map[int]int{1: 10, 2: 10, 4: 20, 8: 40, 16: 80, 32: 160, 64: 320, 128: 260})
	})
}

func TestABatchIsWholeAgainAfterItWasSplit(t *testing.T) {
	texts := strings.Fields("a weir regulates the water level of a river")
	everywhere(t, Embeddings.With(Lengths{Texts: texts, Batch: 4, Long: 6}), func(t *testing.T, got [][]Embedding) {
		equal(t, got, [][]Embedding{
			{{"a", 4}, {"weir", 4}, {"regulates", 9}, {"the", 4}},
			{{"water", 5}, {"level", 5}, {"of", 5}, {"a", 5}},
			{{"river", 5}},
		})
	})
}

func TestAServiceAnswersInOrderAndNamesWhatItRefuses(t *testing.T) {
	requests := make(chan string, 100)
	for i := range 100 {
		if i%10 == 7 {
			requests <- "seven"
		} else {
			requests <- strconv.Itoa(i)
		}
	}
	close(requests)
	var mu sync.Mutex
	refused := 0
	var answers []int
	err := Serve(t.Context(), sup, requests, func(request string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if refused++; request != "seven" || !errors.Is(err, strconv.ErrSyntax) {
			t.Errorf("refused %q: %v", request, err)
		}
	}, func(n int) { answers = append(answers, n) })
	if err != nil {
		t.Fatal(err)
	}
	if refused != 10 || len(answers) != 90 || !slices.IsSorted(answers) {
		t.Errorf("refused %d, answered %v", refused, answers)
	}
}

func TestLogsAreMergedByTime(t *testing.T) {
	at := func(seconds ...int) (log []Event) {
		for _, s := range seconds {
			log = append(log, Event{time.Unix(int64(s), 0).UTC(), strconv.Itoa(s)})
		}
		return log
	}
	everywhere(t, Merged.With(Logs{at(1, 4, 4, 9), at(), at(2, 3, 10, 11), at(5)}), func(t *testing.T, events []Event) {
		var got []string
		for _, e := range events {
			got = append(got, e.Text)
		}
		equal(t, got, strings.Fields("1 2 3 4 4 5 9 10 11"))
	})
}

func TestAPullThatTimesOutConsumesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Sensors{Every: time.Millisecond, Readings: []Reading{{0, "a", 1}, {time.Minute, "a", 2}, {time.Second, "a", 3}}}
		run, err := supervisor.Deploy(t.Context(), supervisor.New(supervisor.Config{}), Means.With(cfg), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer run.Stop()
		var got []float64
		idle := 0
		err = Pull(t.Context(), run, 7*time.Second, func(m Mean) { got = append(got, m.Mean) }, func() { idle++ })
		if err != nil {
			t.Fatal(err)
		}
		equal(t, got, []float64{1, 2, 3})
		equal(t, idle, 8) // in the minute before the second reading
	})
}
