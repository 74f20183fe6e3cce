package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirflow/weir/actors"
	"github.com/weirflow/weir/internal/link/child"
	"github.com/weirflow/weir/internal/plan"
	"github.com/weirflow/weir/stages"
)

// A Supervisor runs pipelines; New and Main make one. It holds no goroutine while none runs, so it need not be closed, but
// 3 MB and more for its actor system: a program needs one. Safe for concurrent use.
type Supervisor struct {
	cfg    Config
	herald *herald // of cfg.OnEvent
	core   *core
}

// A core is what supervisors made by With share.
type core struct {
	fault error              // of the call of Main
	defs  []stages.Blueprint // given to Main; nil: it was not called

	// How nodes are found and reached; nil: by the system.
	lookup func(ctx context.Context, name string) ([]string, error)
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)

	headroom headroom // taken by the first run that has regions

	mu     sync.Mutex
	system *actors.System // guarded by mu; made by the first Deploy
	runs   []*run         // guarded by mu
}

// New returns a supervisor for pipelines that stay in this process. A program that means to move them into child
// processes later calls Main instead.
func New(cfg Config) *Supervisor {
	return &Supervisor{cfg, &herald{to: cfg.OnEvent}, &core{}}
}

// Main returns a supervisor, with the zero Config (With makes one with another), for the pipelines defs: the first statement of main, or of TestMain.
// Whatever stands before it should be nothing, because a child process of this program would run it too. Two
// definitions with one name are an error of Deploy.
func Main(defs ...stages.Blueprint) *Supervisor {
	if child.Marked() {
		beChild(defs)
	}
	s := New(Config{})
	s.core.defs = append([]stages.Blueprint{}, defs...)
	var names []string
	for _, d := range defs {
		if slices.Contains(names, d.Name()) {
			s.core.fault = errors.Join(s.core.fault, fmt.Errorf("supervisor: Main was given two pipelines called %q", d.Name()))
		}
		names = append(names, d.Name())
	}
	return s
}

// With returns a supervisor with the configuration cfg, for what it deploys. It shares everything else with s, Runs
// included.
func (s *Supervisor) With(cfg Config) *Supervisor {
	return &Supervisor{cfg, &herald{to: cfg.OnEvent}, s.core}
}

// Runs returns what is running, in order of deployment: for pages and metrics.
func (s *Supervisor) Runs() []RunInfo {
	s.core.mu.Lock()
	defer s.core.mu.Unlock()
	var infos []RunInfo
	for _, r := range s.core.runs {
		infos = append(infos, RunInfo{r.id, r.pipeline, r.started, r.stats, r.chart})
	}
	return infos
}

// RunInfo is a Run without its type.
type RunInfo struct {
	ID       RunID
	Pipeline string
	Started  time.Time
	Stats    func() Stats
	Graph    func() string // a Mermaid flow chart, with a frame around what is in this process, and around each region that is not
}

// RunID names a run: 128 random bits, in hex.
type RunID string

// Config holds what applies to the runs of a supervisor. The zero value works.
type Config struct {
	// OnEvent is told all events of all runs of this supervisor, in order, by one goroutine of its own. If it is slow, the
	// oldest of 1000 waiting events are dropped, and EventsLost says how many; the data never waits. nil tells nobody.
	// LogEvents makes one.
	OnEvent func(Event)

	// Logger receives what the actor library warns of. The zero Logger is silent. That of the first deployment stays:
	// there is one actor system. Events do not go there by themselves; LogEvents sends them.
	Logger zerolog.Logger

	// MaxFailed and MaxFailedFraction limit how many items of the sources may fail, as Stats.Failed counts them, in a whole
	// run, on top of the stages' own budgets. The fraction is one of the items yielded so far. More than the limit
	// ends the run at once, with stages.ErrBudget. 0 is no limit.
	MaxFailed         int
	MaxFailedFraction stages.Fraction
	// Probation is how many items are let through before a fraction is judged, that of a stage or that of the run. 0 means
	// 100. At the end, all are judged.
	Probation int

	// MaxDeaths is how many processes may die of an item before it has failed: one that was worked on in a child, or on a
	// node, when that died. 0 means 3. Where it is not known what a process was at, all items count that were with it; each
	// of them is then tried alone. In a region with a source or an aggregate it is known of children on Linux; elsewhere no
	// item fails for that.
	MaxDeaths int
	// Restart says how often processes of a region may be replaced, and after which pauses. Together is not used. Max is also
	// how many may die in a row without an item finished in between, if it is more than ten.
	Restart stages.Restart

	// Grace is how long Stop waits for functions and tasks to end, and how long a function may ignore that its Timeout is
	// over. 0 means 5 s.
	Grace time.Duration
	// DrainWithin is how long Drain may take before it becomes Stop. 0 means 30 s.
	DrainWithin time.Duration

	// Background tasks run in this process, beside each run, for as long as it lasts.
	Background []Task

	// Job and Rank label events and statistics, so that the runs of a fleet can be compared.
	Job, Rank string
}

// withDefaults fills in what was not said.
func (c Config) withDefaults() Config {
	if c.Grace == 0 {
		c.Grace = 5 * time.Second
	}
	if c.Probation == 0 {
		c.Probation = plan.DefaultProbation
	}
	if c.MaxDeaths == 0 {
		c.MaxDeaths = plan.MaxAttempts
	}
	if c.DrainWithin == 0 {
		c.DrainWithin = 30 * time.Second
	}
	return c
}

func (c Config) validate() (err error) {
	if c.Grace < 0 {
		err = fmt.Errorf("supervisor: Config.Grace is %v, want at least 0", c.Grace)
	}
	if c.DrainWithin < 0 {
		err = errors.Join(err, fmt.Errorf("supervisor: Config.DrainWithin is %v, want at least 0", c.DrainWithin))
	}
	if c.MaxFailed < 0 {
		err = errors.Join(err, fmt.Errorf("supervisor: Config.MaxFailed is %d, want at least 0", c.MaxFailed))
	}
	if f := c.MaxFailedFraction; !(f >= 0 && f <= 1) { // so that NaN is refused
		err = errors.Join(err, fmt.Errorf("supervisor: Config.MaxFailedFraction is %v, want 0 to 1", float64(f)))
	}
	if c.MaxDeaths < 0 {
		err = errors.Join(err, fmt.Errorf("supervisor: Config.MaxDeaths is %d, want at least 0", c.MaxDeaths))
	}
	if r := c.Restart; r.Within < 0 || r.First < 0 || r.Pause < 0 || r.Together != nil {
		err = errors.Join(err, fmt.Errorf("supervisor: Config.Restart is %+v, want nothing negative, and no Together", r))
	}
	if c.Probation < 0 {
		err = errors.Join(err, fmt.Errorf("supervisor: Config.Probation is %d, want at least 0", c.Probation))
	}
	return errors.Join(append([]error{err}, validateTasks(c.Background)...)...)
}

// nodeRestart is Restart as the runtime has it.
func (c Config) nodeRestart() plan.Restart {
	return plan.Restart{Max: c.Restart.Max, Within: c.Restart.Within, First: c.Restart.First, Pause: c.Restart.Pause}
}

// actors returns the actor system, which the first call makes.
func (c *core) actors(logger zerolog.Logger) *actors.System {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.system == nil {
		c.system = actors.NewSystem(slog.New(zerolog.NewSlogHandler(logger)))
	}
	return c.system
}

func (c *core) add(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = append(c.runs, r)
}

func (c *core) remove(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = slices.DeleteFunc(c.runs, func(o *run) bool { return o == r })
}
