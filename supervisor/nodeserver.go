package supervisor

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/weirflow/weir/internal/link"
	"github.com/weirflow/weir/internal/link/join"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/internal/wire"
)

// A nodeServer is a host that programs reach over the network.
type nodeServer struct {
	host        *host
	credentials *join.Server
	herald      *herald
	grace       time.Duration
	quota       *quota

	mu    sync.Mutex
	lives map[copyOf]life // guarded by mu: the session that there is of each copy
}

// A copyOf is a copy of a region of a run of a peer.
type copyOf struct {
	peer string
	region
	copy int
}

// A life is a session, and what ends it.
type life struct {
	incarnation int
	end         func()
}

// succeed ends what there still is of an earlier life of the same copy, whose connection has broken without this node noticing.
func (n *nodeServer) succeed(of copyOf, l life) (leave func()) {
	n.mu.Lock()
	before, is := n.lives[of]
	n.lives[of] = l
	n.mu.Unlock()
	if is && before.incarnation < l.incarnation {
		before.end()
	}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.lives[of].incarnation == l.incarnation {
			delete(n.lives, of)
		}
	}
}

func (n *nodeServer) event(e Event) { n.herald.post(e, nil) }

func (n *nodeServer) info(open *wire.Open) EventInfo {
	i := EventInfo{Time: time.Now()}
	if open != nil {
		i.Run, i.Pipeline = RunID(printable(open.Run)), printable(open.Pipeline)
	}
	return i
}

// refusedPeer hears of peers that have not proved themselves.
func (n *nodeServer) refusedPeer(r join.Refusal) {
	n.event(SessionRefused{n.info(nil), r.Peer, authError(r.Err), int64(r.Untold)})
}

// handle is a session from its OPEN to its end. What it panics with ends the session only.
func (n *nodeServer) handle(ctx context.Context, s *link.Session, open *wire.Open) {
	peer := peerOf(s)
	ended := SessionEnded{Peer: s.Peer(), Region: regionName(open), Copy: open.Copy}
	started := false
	defer func() {
		if r := recover(); r != nil {
			value, stack := plan.Panicked(r)
			ended.Err = fmt.Errorf("panic: %s\n%s", value, stack)
		}
		if started {
			ended.EventInfo = n.info(open)
			n.event(ended)
		}
	}()
	refuse := func(r *wire.Refuse) {
		if s.Refuse(r) == nil {
			n.quota.refused(r, func(untold int64) {
				n.event(SessionRefused{n.info(open), s.Peer(), &RefusedError{refusalOf(r.Code), printable(r.Text)}, untold})
			})
		}
	}
	leave, full := n.quota.enter(peer, open)
	if full != "" {
		refuse(&wire.Refuse{Code: wire.Full, Text: full})
		return
	}
	defer leave()
	open.Grace = min(open.Grace, n.grace)
	g, r, refusal := n.host.find(open)
	if refusal == nil && open.Window > mostWindow {
		refusal = &wire.Refuse{Code: wire.BadRequest, Text: fmt.Sprintf("a window of %d items: at most %d", open.Window, mostWindow)}
	}
	if refusal != nil {
		refuse(refusal)
		return
	}
	of := copyOf{peer, region{open.Run, open.From, open.To}, open.Copy}
	defer n.succeed(of, life{open.Incarnation, s.Close})()
	started = true
	n.event(SessionStarted{n.info(open), s.Peer(), regionName(open), open.Copy})
	ended.Err = n.host.tenant(ctx, s, open, g, r)
}

// mostWindow is how many items may be with a copy: more are a slip of the finger, or worse.
const mostWindow = 1 << 20

// regionName is how people call the region that open is about.
func regionName(open *wire.Open) string {
	switch open.From {
	case "":
		return ""
	case open.To:
		return printable(open.From)
	}
	return printable(open.From) + ".." + printable(open.To)
}

// peerOf says whose session s is: by his certificate, else by his machine.
func peerOf(s *link.Session) string {
	if info, ok := s.Credentials().(join.Info); ok && info.State != nil && len(info.State.PeerCertificates) > 0 {
		key := sha256.Sum256(info.State.PeerCertificates[0].RawSubjectPublicKeyInfo)
		return string(key[:])
	}
	host, _, err := net.SplitHostPort(s.Peer())
	if err != nil {
		return s.Peer()
	}
	return host
}

// A quota counts what is there.
type quota struct {
	runs int // at most

	mu       sync.Mutex
	sessions map[string]int            // guarded by mu: by peer
	regions  map[string]map[region]int // guarded by mu: sessions of each region, by peer
	all      map[string]int            // guarded by mu: sessions of each run, of a peer
	told     map[wire.Code]tellings    // guarded by mu
}

// A region of a run of a peer.
type region struct{ run, from, to string }

// tellings are how often something was told.
type tellings struct {
	last   time.Time
	untold int64
}

func newQuota(runs int) *quota {
	return &quota{runs: runs, sessions: map[string]int{}, regions: map[string]map[region]int{}, all: map[string]int{}, told: map[wire.Code]tellings{}}
}

// enter counts a session in, or says what is full.
func (q *quota) enter(peer string, open *wire.Open) (leave func(), full string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	run, at := peer+"\x00"+open.Run, region{open.Run, open.From, open.To}
	regions, sessions := max(q.runs, 16), 4*max(q.runs, 16)
	switch {
	case q.all[run] == 0 && len(q.all) >= q.runs:
		return nil, fmt.Sprintf("this node has %d runs, which is as many as it takes", q.runs)
	case q.sessions[peer] >= sessions:
		return nil, fmt.Sprintf("you have %d sessions here, which is as many as this node takes of one", sessions)
	case q.regions[peer][at] == 0 && len(q.regions[peer]) >= regions:
		return nil, fmt.Sprintf("you have %d regions here, which is as many as this node takes of one", regions)
	}
	if q.regions[peer] == nil {
		q.regions[peer] = map[region]int{}
	}
	q.all[run]++
	q.sessions[peer]++
	q.regions[peer][at]++
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		less(q.all, run)
		less(q.sessions, peer)
		if less(q.regions[peer], at); len(q.regions[peer]) == 0 {
			delete(q.regions, peer)
		}
	}, ""
}

func less[K comparable](of map[K]int, k K) {
	if of[k]--; of[k] == 0 {
		delete(of, k)
	}
}

// refused tells of a refusal, of each kind once a second: nobody must be able to fill the log.
func (q *quota) refused(r *wire.Refuse, tell func(untold int64)) {
	q.mu.Lock()
	t, now := q.told[r.Code], time.Now()
	due := t.last.IsZero() || now.Sub(t.last) >= time.Second
	untold := t.untold
	if due {
		q.told[r.Code] = tellings{last: now}
	} else {
		q.told[r.Code] = tellings{t.last, t.untold + 1}
	}
	q.mu.Unlock()
	if due {
		tell(untold)
	}
}
