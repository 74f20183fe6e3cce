package arena

import (
	"fmt"
	"math"
	"os"
	"sync"
)

// A mapping is an arena in this process's address space. It is there as long as somebody holds it.
type mapping struct {
	mu   sync.Mutex
	mem  []byte // guarded by mu; what it shows may be used by who holds the mapping
	held int    // guarded by mu
}

// newMapping maps f, and is held once.
func newMapping(f *os.File, bytes uint64, write bool) (*mapping, error) {
	mem, err := mapFile(f, int(bytes), write)
	if err != nil {
		return nil, fmt.Errorf("arena: map %d bytes: %w", bytes, err)
	}
	return &mapping{mem: mem, held: 1}, nil
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
