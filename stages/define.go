package stages

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/plan"
)

// A Definition is a named pipeline that still lacks its configuration. It is immutable and safe to share: the usual
// place is a package variable.
type Definition[Cfg, Out any] struct {
	name  string
	build func(*Graph, Cfg) Stream[Out]
}

// Define names a pipeline. Nothing runs: build is called by With, and again in every process that hosts a part of the
// pipeline, with an equal Config, and by a deployment with supervisor.Replay. See the package comment for what build must
// not depend on.
//
// The name is how processes speak of the pipeline; it must be unique among those given to supervisor.Main.
func Define[Cfg, Out any](name string, build func(g *Graph, cfg Cfg) Stream[Out]) *Definition[Cfg, Out] {
	return &Definition[Cfg, Out]{name, build}
}

// Name returns the name given to Define.
func (d *Definition[Cfg, Out]) Name() string { return d.name }

// With builds and validates the pipeline for cfg. It always returns a Pipeline: all faults are in its Err, and Deploy
// returns them, so that one check in the caller is enough. A panic of the build function is one of the faults.
func (d *Definition[Cfg, Out]) With(cfg Cfg) Pipeline[Out] {
	return (&configured[Cfg, Out]{d, cfg}).build(nil)
}

// A configured is a Definition with its configuration, so that it can be built again.
type configured[Cfg, Out any] struct {
	d   *Definition[Cfg, Out]
	cfg Cfg
}

// build makes the pipeline: for the letters of r, if it is not nil.
func (c *configured[Cfg, Out]) build(r *replay) Pipeline[Out] {
	d := c.d
	g := &Graph{name: d.name, used: map[plan.Port]string{}, codec: &msgpack.Codec{}, replay: r, entries: map[int]string{}}
	if d.name == "" {
		g.fault(place{}, "the pipeline's name is empty")
	}
	if d.build == nil {
		g.fault(place{}, "the build function is nil")
		return Pipeline[Out]{d.name, nil, errors.Join(g.faults...), c, r != nil}
	}
	out, ok := d.run(g, c.cfg)
	if ok {
		g.finish(out.g, out.port)
	}
	if len(g.faults) > 0 {
		return Pipeline[Out]{d.name, nil, errors.Join(g.faults...), c, r != nil}
	}
	whole := &plan.Graph{
		Name: d.name, Stages: g.stages, Outlet: out.port, Hooks: g.divideHooks(), HookCount: len(g.hooks), Codec: g.codec,
		Errors: g.errors, ErrorTypes: g.types, ErrorCodec: &msgpack.Codec{},
	}
	return Pipeline[Out]{d.name, whole, nil, c, r != nil}
}

// run calls the build function. Its panic is a fault, at the statement that panicked.
func (d *Definition[Cfg, Out]) run(g *Graph, cfg Cfg) (out Stream[Out], ok bool) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if e, is := r.(*DefinitionError); is {
			e.Pipeline = d.name
			g.faults = append(g.faults, e)
			return
		}
		at := place{}
		at.file, at.line = statement()
		g.fault(at, fmt.Sprintf("the build function panicked: %v\n%s", r, debug.Stack()))
	}()
	defer func() { g.complete = true }()
	return d.build(g, cfg), true
}

// A Blueprint is any Definition, whatever its types: what a process must be given to host pipelines
// (supervisor.Main). It is sealed.
type Blueprint interface {
	Name() string
	// rebuild is With in another process. It also seals.
	rebuild(config []byte) (*plan.Graph, error)
}

// A Pipeline is a validated graph with its configuration: a value, to be deployed any number of times, at the same
// time too. The zero Pipeline cannot be deployed.
type Pipeline[Out any] struct {
	name   string
	plan   *plan.Graph // nil if there are faults
	err    error
	again  rebuilder[Out] // a pointer, so that pipelines can be compared
	replay bool           // it runs letters instead of its sources
}

// A rebuilder can build a pipeline once more, here or elsewhere.
type rebuilder[Out any] interface {
	build(*replay) Pipeline[Out]
	config() ([]byte, error)
	blueprint() Blueprint
}

// Name returns the name given to Define.
func (p Pipeline[Out]) Name() string { return p.name }

// Err returns all faults of the definition, joined, or nil. Each is a *DefinitionError.
func (p Pipeline[Out]) Err() error {
	if p.plan == nil && p.err == nil {
		return errors.New("stages: the zero Pipeline: make one with Definition.With")
	}
	return p.err
}

// Plan returns the untyped graph, or nil if Err is not: for the packages of this module.
func (p Pipeline[Out]) Plan() *plan.Graph { return p.plan }

// Blueprint returns the Definition that p was made of, or nil if p is the zero Pipeline: for the packages of this module.
func (p Pipeline[Out]) Blueprint() Blueprint {
	if p.again == nil {
		return nil
	}
	return p.again.blueprint()
}

func (c *configured[Cfg, Out]) blueprint() Blueprint { return c.d }
