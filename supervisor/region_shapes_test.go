package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
)

// Pipelines whose middle can be in other processes. The region goes from the stage "first" to the stage "last".

// A cell is an item that notes what it was called on its way.
type cell struct {
	V     int
	Names string
	Tried int // how often it was worked on before, in the process where it is
}

// A shape says what the region is made of, and what goes wrong in it. It travels, so it has no functions.
type shape struct {
	Of      string // a key of spans
	N       int
	Workers int
	Order   bool   // Ordered, whatever the number of workers
	Epochs  int    // 0: 1
	Fault   string // what is wrong with some items, in the first stage of the region
	Every   int    // of the items' values; 0: 10
	Policy  string // "", "skip", "fraction", "letters"
	Budget  int
	Letters string // a file
	Timeout time.Duration
}

var errOdd = errors.New("odd")

// A valueError is an error with a value.
type valueError struct{ V int }

func (e *valueError) Error() string { return fmt.Sprint("value ", e.V) }

var shapes = stages.Define("shapes", func(g *stages.Graph, s shape) stages.Stream[cell] {
	g.Errors(errOdd)
	stages.ErrorType[*valueError](g)
	source := []stages.SourceOption{stages.Epochs(max(s.Epochs, 1))}
	in := stages.Source(g, "cells", stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[cell, error] {
		return func(yield func(cell, error) bool) {
			for i := int(from.Index); i < s.N; i++ {
				if !yield(cell{V: i}, nil) {
					return
				}
			}
		}
	}), source...)
	if os.Getenv("WEIR_TEST_BUILD") != "" {
		s.Workers++
	}
	return s.build(in)
})

// misbehave is what a child of these tests does instead of being one, if it is told to.
func misbehave() {
	switch os.Getenv("WEIR_TEST_CHILD") {
	case "exits":
		os.Stderr.WriteString("no such library\n")
		os.Exit(7)
	case "prints garbage":
		link := os.NewFile(4, "link")
		for range 100 {
			link.WriteString("HTTP/1.1 400 Bad Request\r\n\r\n")
		}
		select {}
	case "is silent":
		select {}
	case "dies when it is there":
		time.AfterFunc(time.Second, func() { os.Exit(8) })
	}
}

// options of the stages of the region that do the work.
func (s shape) options() []stages.Option {
	o := []stages.Option{stages.Mailbox(max(s.Workers, 1))}
	if s.Order {
		o = append(o, stages.Ordered)
	} else if s.Workers > 1 {
		o = append(o, stages.Unordered)
	}
	return o
}

// faulty is options of the stage in which things go wrong.
func (s shape) faulty() []stages.Option {
	o := s.options()
	if s.Timeout > 0 {
		o = append(o, stages.Timeout(s.Timeout))
	}
	if p, ok := s.policy(); ok {
		o = append(o, stages.OnError(p))
	}
	return append(o, stages.Retry{First: time.Millisecond})
}

func (s shape) policy() (stages.Policy, bool) {
	switch s.Policy {
	case "skip":
		return stages.Skip(s.Budget), true
	case "fraction":
		return stages.Skip(stages.Fraction(float64(s.Budget) / 100)), true
	case "letters":
		return stages.DeadLetter(deadletter.File(s.Letters), s.Budget), true
	}
	return stages.Policy{}, false
}

// note adds to an item what it is called here.
func note(ctx context.Context, v cell) (cell, error) {
	v.Names += fmt.Sprintf(" %s=%v", stages.Where(ctx).Stage, stages.ItemID(ctx))
	if stages.Where(ctx).Stage == "first" {
		v.Tried = stages.Attempt(ctx) - 1
	}
	return v, nil
}

// work is note with faults.
func (s shape) work(ctx context.Context, v cell) (cell, error) {
	out, _ := note(ctx, v)
	every := s.Every
	if every == 0 {
		every = 10
	}
	if s.Fault == "" || v.V%every != every-1 {
		return out, nil
	}
	first := stages.Attempt(ctx) == 1
	switch s.Fault {
	case "error":
		return v, fmt.Errorf("%w: %w", &valueError{v.V}, errOdd)
	case "fatal":
		return v, stages.Fatal(errOdd)
	case "retry":
		if stages.Attempt(ctx) < 3 {
			return v, stages.Retryable(errOdd)
		}
	case "retry in vain":
		return v, stages.Retryable(errOdd)
	case "panic":
		panic(fmt.Sprint("no ", v.V))
	case "panic once":
		if first {
			panic("once")
		}
	case "goexit":
		runtime.Goexit()
	case "goexit once":
		if first {
			runtime.Goexit()
		}
	case "kill":
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	case "exit":
		os.Stderr.WriteString("the last words\n")
		os.Exit(3)
	case "panic elsewhere":
		go panic("in a goroutine of its own")
		select {}
	case "stack overflow":
		debug.SetMaxStack(1 << 20) // the default of 1 GB takes seconds
		v.V = overflow(1)
	case "log fatal":
		log.Fatal("no way on")
	case "map writes":
		m := map[int]int{}
		for range 4 {
			go func() {
				for i := 0; ; i++ {
					m[i%10] = i
				}
			}()
		}
		select {}
	case "deaf":
		select {}
	case "slow":
		<-ctx.Done()
		return v, ctx.Err()
	default:
		panic("no such fault")
	}
	return out, nil
}

// overflow needs more stack than there is.
func overflow(n int) int {
	if n == 0 {
		return 0
	}
	return overflow(n+1) + 1
}

// spread makes v mod 4 of v.
func spread(ctx context.Context, v cell) iter.Seq2[cell, error] {
	return func(yield func(cell, error) bool) {
		w, _ := note(ctx, v)
		for i := range v.V % 4 {
			if !yield(cell{10*w.V + i, w.Names, w.Tried}, nil) {
				return
			}
		}
	}
}

// faultyMany is spread, of which some outputs fail in the next stage, and some inputs here.
func (s shape) faultyMany(ctx context.Context, v cell) iter.Seq2[cell, error] {
	if _, err := s.work(ctx, v); err != nil {
		return func(yield func(cell, error) bool) { yield(v, err) }
	}
	return spread(ctx, v)
}

func (s shape) flatOptions() (all []stages.FlatMapOption) {
	for _, o := range s.faulty() {
		all = append(all, o.(stages.FlatMapOption))
	}
	return all
}

func thirds(_ context.Context, v cell) (bool, error) { return v.V%3 != 0, nil }

func oddness(_ context.Context, v cell) (int, error) { return v.V % 2, nil }

// build puts the region, and what may be around it, behind in.
func (s shape) build(in stages.Stream[cell]) stages.Stream[cell] {
	switch s.Of {
	case "map":
		return behind(stages.Map(in, "first", s.work, s.faulty()...))
	case "maps":
		return behind(stages.Map(stages.Map(in, "first", s.work, s.faulty()...), "last", note, s.options()...))
	case "filter":
		return behind(stages.Map(stages.Filter(in, "first", thirds, s.options()...), "last", s.work, s.faulty()...))
	case "many":
		return behind(stages.Map(stages.FlatMap(in, "first", s.faultyMany, s.flatOptions()...), "last", note, s.options()...))
	case "failing siblings":
		return behind(stages.Map(stages.FlatMap(in, "first", spread), "last", s.work, s.faulty()...))
	case "nested":
		x := stages.FlatMap(stages.FlatMap(in, "first", spread), "more", spread)
		return behind(stages.Filter(stages.Map(x, "name", note, s.options()...), "last", thirds))
	case "route":
		b := stages.Route(in, "first", 2, oddness)
		x := stages.Merge("last", s.mix(), stages.Map(b[0], "even", s.work, s.faulty()...), stages.Map(b[1], "odd", note, s.options()...))
		return behind(x)
	case "tee":
		a, b := stages.Tee(stages.Map(in, "first", note, s.options()...), "tee")
		return behind(stages.Merge("last", s.mix(), stages.Map(a, "left", s.work, s.faulty()...), stages.Filter(b, "right", thirds)))
	case "branch":
		b := stages.Route(in, "route", 2, oddness)
		x := stages.Map(stages.FlatMap(b[1], "first", spread), "last", s.work, s.faulty()...)
		return behind(stages.Merge("join", s.mix(), b[0], x))
	case "tee branch":
		a, b := stages.Tee(in, "tee")
		return behind(stages.Merge("join", s.mix(), a, stages.Map(stages.Map(b, "first", s.work, s.faulty()...), "last", note, s.options()...)))
	case "batches":
		x := stages.Map(stages.Map(in, "first", s.work, s.faulty()...), "last", note, s.options()...)
		return stages.Map(stages.Batch(x, "batch", 7), "sum", func(_ context.Context, b []cell) (cell, error) {
			var names []string
			for _, v := range b {
				names = append(names, fmt.Sprint(v.V))
			}
			return cell{V: len(b), Names: strings.Join(names, ",")}, nil
		})
	}
	panic("no such shape")
}

func (s shape) mix() stages.Mix {
	if s.Order || s.Workers <= 1 {
		return stages.InputOrder{}
	}
	return stages.Arrival{}
}

// behind is a stage of this process behind the region.
func behind(in stages.Stream[cell]) stages.Stream[cell] { return stages.Map(in, "behind", note) }

// madeOf returns the values that come of input i.
func madeOf(of string, i int) (values []int) {
	switch of {
	case "maps":
		return []int{i}
	case "many":
		for k := range i % 4 {
			values = append(values, 10*i+k)
		}
	case "tee":
		if i%3 != 0 {
			return []int{i, i}
		}
		return []int{i}
	}
	return values
}
