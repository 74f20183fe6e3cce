package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// A spread is the addresses of a region's nodes, and which copy is at which.
type spread struct {
	name, port string // "" and the address itself: there is nothing to look up
	lookup     func(ctx context.Context, name string) ([]string, error)

	mu    sync.Mutex
	addrs []string             // guarded by mu; as they were found last
	at    map[int]string       // guarded by mu: by copy
	bad   map[string]time.Time // guarded by mu: when an address could not be reached
}

// shunned is for how long an address that could not be reached is taken only if there is no other.
const shunned = 30 * time.Second

func newSpread(addr string, lookup func(ctx context.Context, name string) ([]string, error)) *spread {
	s := &spread{lookup: lookup, at: map[int]string{}, bad: map[string]time.Time{}}
	if s.lookup == nil {
		s.lookup = net.DefaultResolver.LookupHost
	}
	if named, ok := strings.CutPrefix(addr, "dns:///"); ok {
		s.name, s.port, _ = net.SplitHostPort(named) // it was checked
		return s
	}
	s.addrs = []string{strings.TrimPrefix(addr, "tcp://")}
	return s
}

// resolve looks the name up. If that fails, what was found before stays; it is an error only if there is nothing.
func (s *spread) resolve(ctx context.Context) error {
	if s.name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	found, err := s.lookup(ctx, s.name)
	if err == nil && len(found) == 0 {
		err = errors.New("the name has no address")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if len(s.addrs) > 0 {
			return nil
		}
		return fmt.Errorf("%q: %w", s.name, err)
	}
	s.addrs = nil
	for _, host := range found {
		s.addrs = append(s.addrs, net.JoinHostPort(host, s.port))
	}
	slices.Sort(s.addrs)
	s.addrs = slices.Compact(s.addrs)
	return nil
}

func (s *spread) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.addrs)
}

// take looks the name up, and gives a copy the address where the fewest others are.
func (s *spread) take(ctx context.Context, copy int) (string, error) {
	if err := s.resolve(ctx); err != nil {
		return "", err
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	cost := func(addr string) (others int) {
		if at, bad := s.bad[addr]; bad && now.Sub(at) < shunned {
			others += mostCopies
		}
		for c, a := range s.at {
			if c != copy && a == addr {
				others++
			}
		}
		return others
	}
	best := slices.MinFunc(s.addrs, func(a, b string) int { return cost(a) - cost(b) })
	s.at[copy] = best
	return best, nil
}

// failed notes that an address could not be reached.
func (s *spread) failed(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bad[addr] = time.Now()
}

// reached notes that it could.
func (s *spread) reached(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bad, addr)
}
