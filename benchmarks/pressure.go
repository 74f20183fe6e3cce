package main

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// What a pipeline does when it has nothing to do: behind a slow sink, and without any item.

// sleeps is the contender that only sleeps, as the slow sink does. No pipeline can use less CPU.
const sleeps = "sleeps"

// slowMoments returns the items at which the slow sink looks how many are ahead of it. The last item counts too.
func slowMoments() []int { return []int{1, 10, 100, 300} }

func moments() (text string) {
	for _, m := range slowMoments() {
		text += fmt.Sprint(m, " ")
	}
	return text + "end"
}

// A slow is a source without limit. It counts what was taken out of it, in hands of the pipeline or on the way.
type slow struct{ yielded *atomic.Int64 }

func (s slow) items() iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := 0; yield(i, nil); i++ {
			s.yielded.Add(1)
		}
	}
}

// A sink takes items, a millisecond each, until it has had enough.
type sink struct {
	n       int
	yielded atomic.Int64
	taken   int
	ahead   []int64
	begun   time.Time
	cpu     time.Duration
	heap    uint64
	row     row
}

func newSink(n int) *sink {
	s := &sink{n: n, heap: liveHeap()}
	s.begun, s.cpu = time.Now(), cpuTime()
	return s
}

// take reports whether it wants more.
func (s *sink) take() bool {
	s.taken++
	time.Sleep(time.Millisecond)
	if slices.Contains(slowMoments(), s.taken) || s.taken == s.n {
		s.ahead = append(s.ahead, s.yielded.Load()-int64(s.taken))
	}
	if s.taken < s.n {
		return true
	}
	took, cpu := time.Since(s.begun), cpuTime()-s.cpu // before the heap is looked at, which costs
	s.row = row{
		NsPerItem: float64(took) / float64(s.n), CPUPerSecMs: 1000 * float64(cpu) / float64(took),
		Ahead: s.ahead, HeapBytes: int64(liveHeap()) - int64(s.heap),
	}
	return false
}

func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func slowWeir(ctx context.Context, s *supervisor.Supervisor, n int) (row, error) {
	sink := newSink(n)
	def := threeSteps("slow", func(cfg slow) stages.Origin[int] {
		return stages.FromSeq(func(context.Context) iter.Seq2[int, error] { return cfg.items() })
	}, stages.Mailbox(4))
	for _, err := range supervisor.Items(ctx, s, def.With(slow{&sink.yielded}), supervisor.InProcess{}) {
		if err != nil {
			return row{}, err
		}
		if !sink.take() {
			break
		}
	}
	return sink.row, nil
}

// slowChannels ends its source behind the last item: channels have no way to stop one.
func slowChannels(_ context.Context, _ *supervisor.Supervisor, n int) (row, error) {
	sink := newSink(n)
	source, enough := make(chan int, 128), make(chan struct{})
	go func() {
		defer close(source)
		for i := range (slow{&sink.yielded}).items() {
			select {
			case source <- i:
			case <-enough:
				return
			}
		}
	}()
	var c <-chan int = source
	for _, f := range steps() {
		c = channelStage(c, 4, 128, f)
	}
	for range c {
		if sink.taken < n && !sink.take() {
			close(enough)
		}
	}
	return sink.row, nil
}

func slowSleeps(_ context.Context, _ *supervisor.Supervisor, n int) (row, error) {
	sink := newSink(n)
	for sink.take() {
	}
	sink.row.Ahead = nil
	return sink.row, nil
}

// parked is how many items have gone through a pipeline before it is idle.
const parked = 5000

// idleWeir measures what a pipeline costs while its source waits.
func idleWeir(ctx context.Context, s *supervisor.Supervisor, d time.Duration) (r row, _ error) {
	before := runtime.NumGoroutine()
	def := threeSteps("idle", func(n int) stages.Origin[int] {
		return stages.FromSeq(func(ctx context.Context) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for i := range n {
					if !yield(i, nil) {
						return
					}
				}
				<-ctx.Done()
			}
		})
	}, stages.Mailbox(4))
	n := 0
	for _, err := range supervisor.Items(ctx, s, def.With(parked), supervisor.InProcess{}) {
		if err != nil {
			return r, err
		}
		if n++; n == parked {
			r = rest(d, before)
			break
		}
	}
	return r, nil
}

func idleChannels(_ context.Context, _ *supervisor.Supervisor, d time.Duration) (r row, _ error) {
	before := runtime.NumGoroutine()
	source := make(chan int, 128)
	go func() {
		for i := range parked {
			source <- i
		}
	}()
	var c <-chan int = source
	for _, f := range steps() {
		c = channelStage(c, 4, 128, f)
	}
	for range parked {
		<-c
	}
	r = rest(d, before)
	close(source)
	for range c {
	}
	return r, nil
}

// settle is how long a pipeline that has no more items may take to park: its timers end by then.
const settle = 20 * time.Millisecond

func rest(d time.Duration, before int) row {
	runtime.GC() // not the pipeline's: what it frees is of those before
	time.Sleep(settle)
	goroutines, cpu, begun := runtime.NumGoroutine()-before, cpuTime(), time.Now()
	time.Sleep(d)
	return row{CPUPerSecMs: 1000 * float64(cpuTime()-cpu) / float64(time.Since(begun)), Goroutines: goroutines}
}

// A patient is a contender of the works slow and idle.
type patient[T any] struct {
	name string
	run  func(ctx context.Context, s *supervisor.Supervisor, much T) (row, error)
}

func slowContenders() []patient[int] {
	return []patient[int]{{"weir", slowWeir}, {baseline, slowChannels}, {sleeps, slowSleeps}}
}

func idleContenders() []patient[time.Duration] {
	return []patient[time.Duration]{{"weir", idleWeir}, {baseline, idleChannels}}
}

// pressure lets the contenders take turns and keeps, of each, the row with the median of the CPU, and of what was ahead
// of it the largest.
func pressure[T any](ctx context.Context, s *supervisor.Supervisor, work string, cs []patient[T], much T, rounds int) ([]row, error) {
	all := make([][]row, len(cs))
	for i := range rounds {
		for j := range cs {
			k := (i + j) % len(cs)
			done := watch(work, cs[k].name)
			r, err := cs[k].run(ctx, s, much)
			done()
			if err != nil {
				return nil, fmt.Errorf("work %s, %s: %w", work, cs[k].name, err)
			}
			all[k] = append(all[k], r)
		}
	}
	rows := make([]row, len(cs))
	bare, base := 0.0, 0.0
	for k, c := range cs {
		rows[k] = middle(all[k])
		rows[k].Work, rows[k].Contender = work, c.name
		switch c.name {
		case sleeps:
			bare = rows[k].CPUPerSecMs
		case baseline:
			base = rows[k].NsPerItem
		}
	}
	for k := range rows {
		if bare > 0 {
			rows[k].CPURatio = rows[k].CPUPerSecMs / bare
		}
		if base > 0 {
			rows[k].Ratio = rows[k].NsPerItem / base
		}
	}
	return rows, nil
}

// middle is the row with the median CPU, the largest number of items ahead at each moment, and the largest heap.
func middle(rows []row) row {
	slices.SortFunc(rows, func(a, b row) int { return int(1e6 * (a.CPUPerSecMs - b.CPUPerSecMs)) })
	m := rows[len(rows)/2]
	m.Ahead = slices.Clone(m.Ahead)
	for _, r := range rows {
		m.HeapBytes = max(m.HeapBytes, r.HeapBytes)
		for i := range min(len(m.Ahead), len(r.Ahead)) {
			m.Ahead[i] = max(m.Ahead[i], r.Ahead[i])
		}
	}
	return m
}
