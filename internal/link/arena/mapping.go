package arena

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
)

// A mapping is an arena in this process's address space. It is there as long as somebody holds it.
type mapping struct {
	write bool

	mu    sync.Mutex
	mem   []byte // guarded by mu; what it shows may be used by who holds the mapping
	held  int    // guarded by mu
	ready int    // bytes that have their pages, in the file and here; guarded by mu
}

// An arena gets its pages in multiples of unitBytes, which is what the first step is, then from leastStepBytes to mostStepBytes ahead.
const (
	unitBytes      = 64 << 10 // no system has larger pages
	leastStepBytes = 1 << 20
	mostStepBytes  = 16 << 20
)

// newMapping maps f, and is held once. The pages come later, with grow, if this system can give them so that what it lacks is
// an error; else who makes the file has reserved all of them, and they are there at once.
func newMapping(f *os.File, bytes uint64, write, made bool) (*mapping, error) {
	mem, err := mapFile(f, int(bytes), write)
	if err != nil {
		return nil, fmt.Errorf("arena: map %d bytes: %w", bytes, err)
	}
	m := &mapping{write: write, mem: mem, held: 1}
	err = m.grow(1)
	if errors.Is(err, ErrUnsupported) {
		err = nil
		if m.ready = len(mem); made {
			err = reserve(f, bytes)
		}
	}
	if err != nil {
		m.drop()
		return nil, err
	}
	return m, nil
}

// grow gives the first bytes of the mapping their pages.
func (m *mapping) grow(bytes uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if bytes <= uint64(m.ready) {
		return nil
	}
	upTo := func(n uint64) int { return int(min((n+unitBytes-1)/unitBytes*unitBytes, uint64(len(m.mem)))) }
	to := upTo(bytes)
	if m.ready > 0 {
		to = max(to, upTo(uint64(m.ready+min(max(m.ready, leastStepBytes), mostStepBytes))))
	}
	err := populate(m.mem[m.ready:to], m.write)
	if least := upTo(bytes); err != nil && least < to {
		to, err = least, populate(m.mem[m.ready:least], m.write)
	}
	if err != nil {
		return fmt.Errorf("arena: memory for %d bytes: %w", to, err)
	}
	m.ready = to
	return nil
}

// hold returns the memory, or false if it is gone.
func (m *mapping) hold() ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == 0 {
		return nil, false
	}
	m.held++
	return m.mem, true
}

// drop ends what hold, or newMapping, has begun.
func (m *mapping) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held--; m.held == 0 {
		unmap(m.mem)
		m.mem = nil
	}
}

// checkSize refuses sizes that no arena can have.
func checkSize(bytes uint64) error {
	if bytes < granule || bytes > math.MaxInt {
		return fmt.Errorf("%w: %d bytes", ErrSize, bytes)
	}
	return nil
}
