package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"

	"github.com/weirflow/weir/stages"
)

// The pipelines of the works across processes: this program is its own child, so they are given to supervisor.Main.

// A cargo says what a pipeline yields.
type cargo struct {
	Items, Bytes int
	Ahead        int // items that its stage works on at once
}

// A record is about 100 bytes in msgpack, and wherever it lies.
type record struct {
	ID    int64
	Label string
	X, Y  float64
	Words [4]uint64
	Flag  bool
}

const recordBytes = 100

func makeRecord(i int) record {
	return record{int64(i), "a label of 24 characters", float64(i), 0.5, [4]uint64{1 << 40, 1 << 50, 1 << 60, uint64(i)}, true}
}

func (r record) number() int { return int(r.ID) }

// A coded is a record that encodes itself, as who knows its type would write it.
type coded record

func (c coded) number() int { return int(c.ID) }

// AppendBinary implements encoding.BinaryAppender.
func (c *coded) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, uint64(c.ID))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.X))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.Y))
	for _, w := range c.Words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	flag := byte(0)
	if c.Flag {
		flag = 1
	}
	return append(append(b, flag), c.Label...), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (c *coded) UnmarshalBinary(b []byte) error {
	const fixed = 7*8 + 1
	if len(b) < fixed {
		return errors.New("a record that is too short")
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	c.ID, c.X, c.Y = int64(word(0)), math.Float64frombits(word(1)), math.Float64frombits(word(2))
	for i := range c.Words {
		c.Words[i] = word(3 + i)
	}
	c.Flag, c.Label = b[fixed-1] == 1, string(b[fixed:])
	return nil
}

func farPipelines() []stages.Blueprint {
	return []stages.Blueprint{farInts(), farRecords(), farCoded(), farCopies(), farViews(), farLives()}
}

func farInts() *stages.Definition[cargo, int] { return relay("far ints", same) }

func farRecords() *stages.Definition[cargo, record] { return relay("far records", makeRecord) }

func farCoded() *stages.Definition[cargo, coded] {
	return relay("far coded", func(i int) coded { return coded(makeRecord(i)) })
}

// relay is a source and a stage that hands on what it is given.
func relay[T any](name string, item func(i int) T) *stages.Definition[cargo, T] {
	return stages.Define(name, func(g *stages.Graph, c cargo) stages.Stream[T] {
		s := stages.Source(g, "source", numbers(c.Items, item))
		return stages.Map(s, "there", func(_ context.Context, v T) (T, error) { return v, nil }, stages.Ordered)
	})
}

func farCopies() *stages.Definition[cargo, []byte] {
	return shelf("far copies", func(b []byte) []byte { return b })
}

func farViews() *stages.Definition[cargo, stages.View] { return shelf("far views", stages.ViewOf) }

// blocksThere is how many different blocks there are, the sources of the copies.
const blocksThere = 8

// makeBlocks makes blocks of which each has its number at its beginning.
func makeBlocks(n, size int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = bytes.Repeat([]byte{1}, max(size, 8))
		binary.LittleEndian.PutUint64(all[i], uint64(i))
	}
	return all
}

func numberOf(b []byte) int { return int(binary.LittleEndian.Uint64(b)) }

// shelf is a source of indices and a stage that hands on blocks for them, which are not made anew for each.
func shelf[T any](name string, wrap func([]byte) T) *stages.Definition[cargo, T] {
	return stages.Define(name, func(g *stages.Graph, c cargo) stages.Stream[T] {
		var all []T
		for _, b := range makeBlocks(blocksThere, c.Bytes) {
			all = append(all, wrap(b))
		}
		s := stages.Source(g, "source", ints(c.Items))
		return stages.Map(s, "there", func(_ context.Context, i int) (T, error) { return all[i%blocksThere], nil },
			stages.Mailbox(max(c.Ahead, 1)), stages.Ordered)
	})
}

// farLives yields the number of the process that has made the item.
func farLives() *stages.Definition[cargo, int] {
	return stages.Define("far lives", func(g *stages.Graph, c cargo) stages.Stream[int] {
		s := stages.Source(g, "source", ints(c.Items))
		return stages.Map(s, "there", func(context.Context, int) (int, error) { return os.Getpid(), nil })
	})
}
