package main

import (
	"context"
	"maps"
	"sync"
)

// A table stands for one in a database: rows by their key.
type table struct {
	mu   sync.Mutex
	rows map[int64]Row // guarded by mu
}

func newTable() *table { return &table{rows: map[int64]Row{}} }

// Len returns how many rows there are.
func (t *table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.rows)
}

// A conn is one worker's connection to the table.
type conn struct{ table *table }

// connect is called once per worker of the stage, and again for a worker that takes the place of one that panicked.
func (c Config) connect(context.Context) (*conn, error) { return &conn{c.Table}, nil }

// insert inserts rows, and returns how many were new. A batch may come twice, if its first attempt died half-way: so
// what is there already is left alone, as by "on conflict do nothing".
func (c *conn) insert(_ context.Context, rows []Row) (n int, err error) {
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	for _, r := range rows {
		if _, there := c.table.rows[r.ID]; !there {
			c.table.rows[r.ID] = r
			n++
		}
	}
	return n, nil
}

// Close implements io.Closer: the runtime calls it when the worker ends.
func (c *conn) Close() error { return nil }

// An audit counts rows by city.
type audit struct {
	mu     sync.Mutex
	counts map[string]int // guarded by mu
}

func newAudit() *audit { return &audit{counts: map[string]int{}} }

func (a *audit) add(_ context.Context, r Row) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[r.City]++
	return nil
}

// Counts returns the counts so far.
func (a *audit) Counts() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.counts)
}
