package supervisor_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A cargo is items of given sizes, over and over.
type cargo struct {
	Sizes []int // bytes
	N     int
	Ahead int // Mailbox of the stage in the region
}

func (l cargo) size(i int) int { return l.Sizes[i%len(l.Sizes)] }

// fill makes bytes that only item i has.
func fill(i, n int) []byte {
	b := make([]byte, n)
	for k := 0; k+8 <= n; k += 512 {
		binary.LittleEndian.PutUint64(b[k:], uint64(i)<<32|uint64(k))
	}
	if n > 0 {
		b[n-1] = byte(i)
	}
	return b
}

// An image is a codecs.Bulk.
type image struct {
	width  int
	pixels []byte
}

func (m *image) Split() (head, block []byte, err error) {
	return binary.AppendVarint(nil, int64(m.width)), m.pixels, nil
}

func (m *image) Join(head, block []byte) error {
	w, n := binary.Varint(head)
	if n != len(head) {
		return errors.New("not the head of an image")
	}
	m.width, m.pixels = int(w), block
	return nil
}

// A record has slices inside, which go with the rest of it.
type record struct {
	Name   string
	Pixels []byte
	Scores []float32
}

// relays are pipelines of which the second stage, pass, hands on what it is given: over the same items of one size
// or another, in each form.
var (
	relayBytes = relay("relay bytes", fill)
	relayFloat = relay("relay floats", func(i, n int) []float32 {
		all := make([]float32, n/4)
		for k := range all {
			all[k] = float32(i + k)
		}
		return all
	})
	relayImage  = relay("relay images", func(i, n int) *image { return &image{i, fill(i, n)} })
	relayRecord = relay("relay records", func(i, n int) record {
		return record{fmt.Sprint(i), fill(i, n), []float32{float32(i), float32(n)}}
	})
	relayView = relay("relay views", func(i, n int) stages.View { return stages.ViewOf(fill(i, n)) })
)

func bulkPipelines() []stages.Blueprint {
	return []stages.Blueprint{relayBytes, relayFloat, relayImage, relayRecord, relayView, twoRelays}
}

func relay[T any](name string, item func(i, size int) T) *stages.Definition[cargo, T] {
	return stages.Define(name, func(g *stages.Graph, cfg cargo) stages.Stream[T] {
		items := stages.FromFunc(func(_ context.Context, from stages.Position) iter.Seq2[T, error] {
			return func(yield func(T, error) bool) {
				for i := int(from.Index); i < cfg.N && yield(item(i, cfg.size(i)), nil); i++ {
				}
			}
		})
		s := stages.Source(g, "make", items)
		return stages.Map(s, "pass", func(_ context.Context, v T) (T, error) {
			return v, nil
		}, stages.Mailbox(max(cfg.Ahead, 1)), stages.Ordered)
	})
}

// Two regions in a row: what the first gives is a View of its memory, and is given back when the second is through with it.
var twoRelays = stages.Define("two relays", func(g *stages.Graph, cfg cargo) stages.Stream[stages.View] {
	s := stages.Source(g, "indices", ints(cfg.N))
	v := stages.Map(s, "make", func(_ context.Context, i int) (stages.View, error) { return stages.ViewOf(fill(i, cfg.size(i))), nil }, stages.Ordered)
	return stages.Map(v, "pass", func(_ context.Context, v stages.View) (stages.View, error) { return v, nil }, stages.Ordered)
})

// childrenOf returns the processes that this one has started.
func childrenOf(t testing.TB) []int {
	t.Helper()
	pids, known := ownChildren()
	if !known {
		t.Skip("this system does not tell children")
	}
	return pids
}

// killProcess kills a process on every system.
func killProcess(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// ownChildren returns the processes of which this one is the parent, if the system tells.
func ownChildren() (pids []int, known bool) {
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, f := range tasks {
		b, _ := os.ReadFile(f)
		for w := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(w); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids, tasks != nil
}

// inAChild is where pass is.
func inAChild(at supervisor.Subprocess) supervisor.Placement {
	return supervisor.Regions{{From: "pass", On: at}}
}

// checkRelay runs a relay, and compares what comes with what was sent.
func checkRelay[T any](t *testing.T, d *stages.Definition[cargo, T], cfg cargo, at supervisor.Subprocess, same func(i, size int, v T) bool) supervisor.Stats {
	t.Helper()
	run, err := supervisor.Deploy(t.Context(), children, d.With(cfg), inAChild(at))
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for v, err := range run.Items(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if !same(i, cfg.size(i), v) {
			t.Fatalf("item %d, of %d bytes, is another", i, cfg.size(i))
		}
		i++
	}
	if err := run.Stop(); err != nil || i != cfg.N {
		t.Errorf("%d items of %d, %v", i, cfg.N, err)
	}
	return run.Stats()
}

func sameBytes(i, n int, v []byte) bool { return bytes.Equal(v, fill(i, n)) }

func sameView(i, n int, v stages.View) bool {
	defer v.Release()
	return sameBytes(i, n, v.Bytes())
}

// edges are sizes around the one from which on there is shared memory.
func edges() cargo {
	return cargo{Sizes: []int{0, 1, 4, 16<<10 - 1, 16 << 10, 16<<10 + 4, 1 << 20}, N: 70, Ahead: 2}
}

func TestEveryFormOfItemCrossesBothWays(t *testing.T) {
	for _, at := range []struct {
		name  string
		bytes int64
		full  bool
	}{{"with room", 0, false}, {"with little", 1 << 20, true}, {"with hardly any", 16 << 10, true}} {
		t.Run(at.name, func(t *testing.T) {
			on := supervisor.Subprocess{ArenaBytes: at.bytes}
			check := func(name string, run func(t *testing.T) supervisor.Stats) {
				t.Run(name, func(t *testing.T) {
					s := run(t)
					if len(s.Nodes) != 1 || s.Nodes[0].Region != "pass" || s.Nodes[0].Lives != 1 {
						t.Fatalf("%+v", s.Nodes)
					}
					if full := s.Nodes[0].ArenaFull > 0; full != (at.full && name != "records") && !(at.full && name == "views") {
						t.Errorf("%+v", s.Nodes[0])
					}
				})
			}
			check("bytes", func(t *testing.T) supervisor.Stats { return checkRelay(t, relayBytes, edges(), on, sameBytes) })
			check("floats", func(t *testing.T) supervisor.Stats {
				return checkRelay(t, relayFloat, edges(), on, func(i, n int, v []float32) bool {
					return len(v) == n/4 && (n < 4 || v[0] == float32(i) && v[n/4-1] == float32(i+n/4-1))
				})
			})
			check("images", func(t *testing.T) supervisor.Stats {
				return checkRelay(t, relayImage, edges(), on, func(i, n int, v *image) bool { return v.width == i && sameBytes(i, n, v.pixels) })
			})
			check("records", func(t *testing.T) supervisor.Stats {
				return checkRelay(t, relayRecord, edges(), on, func(i, n int, v record) bool {
					return v.Name == fmt.Sprint(i) && sameBytes(i, n, v.Pixels) && v.Scores[1] == float32(n)
				})
			})
			check("views", func(t *testing.T) supervisor.Stats { return checkRelay(t, relayView, edges(), on, sameView) })
		})
	}
}

func TestAnItemOfMoreThanAMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("it is 65 MiB")
	}
	large := cargo{Sizes: []int{64<<20 + 1}, N: 3}
	for _, c := range []struct {
		name  string
		bytes int64
		stage string // that fails it; "": none
	}{{"with room", 512 << 20, ""}, {"without", 0, "pass"}} {
		t.Run(c.name, func(t *testing.T) {
			run, err := supervisor.Deploy(t.Context(), children, relayBytes.With(large), inAChild(supervisor.Subprocess{ArenaBytes: c.bytes}))
			if err != nil {
				t.Fatal(err)
			}
			i := 0
			for v, err := range run.Items(t.Context()) {
				failed, _ := errors.AsType[*supervisor.RunError](err)
				switch {
				case c.stage != "" && (!errors.Is(err, codecs.ErrTooLarge) || failed == nil || !strings.Contains(err.Error(), "stage \"pass\"")):
					t.Errorf("got %v", err)
				case c.stage == "" && (err != nil || !sameBytes(i, large.size(i), v)):
					t.Errorf("item %d: %v", i, err)
				}
				i++
			}
			run.Stop()
		})
	}
}

// An item that just fits into a message crosses both ways without room in shared memory, and out of a stream.
func TestAnItemOfAMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("it is 64 MiB")
	}
	full := cargo{Sizes: []int{64 << 20}, N: 2}
	little := supervisor.Subprocess{ArenaBytes: 16 << 10}
	for name, at := range map[string]supervisor.Placement{"keyed": inAChild(little), "stream": little} {
		t.Run(name, func(t *testing.T) {
			got, err := collectAt(t, children, relayBytes.With(full), at)
			if err != nil || len(got) != 2 || !sameBytes(0, 64<<20, got[0]) || !sameBytes(1, 64<<20, got[1]) {
				t.Errorf("%d items, %v", len(got), err)
			}
		})
	}
}

// Many items of half a megabyte, for which there is no room: a message holds but a few.
func TestWhatComesAtOnceIsMoreThanAMessage(t *testing.T) {
	s := checkRelay(t, relayRecord, cargo{Sizes: []int{3 << 20}, N: 40, Ahead: 32}, supervisor.Subprocess{}, func(i, n int, v record) bool {
		return sameBytes(i, n, v.Pixels)
	})
	t.Log(s.Elapsed.Round(time.Millisecond))
}
