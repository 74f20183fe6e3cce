package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirflow/weir/supervisor"
)

func TestContendersDoTheirWork(t *testing.T) {
	for _, w := range works(supervisor.New(supervisor.Config{})) {
		for _, c := range w.contenders {
			t.Run(w.name+"/"+c.name, func(t *testing.T) {
				for _, n := range []int{0, 1, 31, 64, 1001} {
					if _, err := w.run(t.Context(), c, n, w.want(n)); err != nil {
						t.Errorf("%d items: %v", n, err)
					}
				}
			})
		}
	}
}

func TestWorksHaveTheBaselineOnce(t *testing.T) {
	for _, w := range works(nil) {
		n := 0
		for _, c := range w.contenders {
			if c.name == baseline {
				n++
			}
		}
		if n != 1 {
			t.Errorf("work %s has the contender %q %d times", w.name, baseline, n)
		}
	}
}

func TestCheckFinds(t *testing.T) {
	of := func(items ...int) (d digest) {
		for _, v := range items {
			d.add(v)
		}
		return d
	}
	for _, tc := range []struct {
		name    string
		got     digest
		ordered bool
		want    string // part of the error
	}{
		{"nothing wrong", of(0, 1, 2), true, ""},
		{"a lost item", of(0, 1), true, "2 items came out, want 3"},
		{"an item twice", of(0, 1, 2, 2), true, "4 items came out, want 3"},
		{"another item", of(0, 1, 7), true, "the sum is 8, want 3"},
		{"broken order", of(0, 2, 1), true, "not in order"},
		{"an order that nobody promised", of(0, 2, 1), false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := contender{name: "c", ordered: tc.ordered}
			err := c.check(tc.got, expect(same)(3))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// The latencies, the slow sink and the idle pipeline run in a bubble: there a millisecond costs nothing.
func TestLatenciesAreOnePerItem(t *testing.T) {
	for _, l := range latencies(nil) {
		for i := range l.contenders {
			synctest.Test(t, func(t *testing.T) {
				c := latencies(supervisor.New(supervisor.Config{}))
				for _, l2 := range c {
					if l2.name != l.name {
						continue
					}
					took, err := l2.contenders[i].run(t.Context(), 20)
					if err != nil || len(took) != 20 {
						t.Errorf("%s, %s: %d latencies, want 20 (error %v)", l.name, l2.contenders[i].name, len(took), err)
					}
				}
			})
		}
	}
}

func TestSlowSinkTakesItsItems(t *testing.T) {
	for _, c := range slowContenders() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 350
				r, err := c.run(t.Context(), supervisor.New(supervisor.Config{}), n)
				if err != nil || r.NsPerItem < float64(time.Millisecond) {
					t.Fatalf("%v ns per item, want a millisecond (error %v)", r.NsPerItem, err)
				}
				if c.name != sleeps && len(r.Ahead) != len(slowMoments())+1 {
					t.Errorf("looked at %v, want %d moments", r.Ahead, len(slowMoments())+1)
				}
				for _, a := range r.Ahead {
					if a < 0 || a > 10_000 {
						t.Errorf("%d items ahead: not counted, or not bounded", a)
					}
				}
			})
		})
	}
}

func TestIdlePipelineIsThereAndGone(t *testing.T) {
	for _, c := range idleContenders() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
				r, err := c.run(t.Context(), supervisor.New(supervisor.Config{}), time.Hour)
				if err != nil || r.Goroutines < 4 {
					t.Errorf("%d goroutines, want those of a pipeline (error %v)", r.Goroutines, err)
				}
			})
		})
	}
}

// BenchmarkWork runs the works as Go benchmarks, an item per operation:
//
//	go test -run '^$' -bench Work/a/weir -cpuprofile a.prof
func BenchmarkWork(b *testing.B) {
	for _, w := range works(supervisor.New(supervisor.Config{})) {
		for _, c := range w.contenders {
			b.Run(w.name+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				want := w.want(b.N)
				b.ResetTimer()
				got, err := c.run(context.Background(), b.N)
				if b.StopTimer(); err != nil {
					b.Fatal(err)
				}
				if err := c.check(got, want); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkWith is what a definition costs before it is deployed.
func BenchmarkWith(b *testing.B) {
	b.ReportAllocs()
	def := threeSteps("with", ints)
	for b.Loop() {
		if err := def.With(3).Err(); err != nil {
			b.Fatal(err)
		}
	}
}
