package stages

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/weirflow/weir/codecs"
	"github.com/weirflow/weir/codecs/msgpack"
	"github.com/weirflow/weir/internal/plan"
)

// A pipeline goes to another process as its name and its configuration: code does not travel. The other process has the
// same Definition, compiled in, and builds the graph again; plan.Fingerprint tells whether it has become the same.

// EncodeConfig returns the configuration that p was made with, to be given to Rebuild in another process: for the packages
// of this module. It is encoded by msgpack, whatever the pipeline's codec is, since it comes before the graph. A
// configuration that cannot be encoded is an error that names the pipeline and the path to the part that cannot, and wraps
// codecs.ErrNotEncodable; so is one of which anything would be lost on the way, as in an unexported field. A pipeline that
// runs letters cannot be built from its configuration alone, which is an error, too. It runs user code: that of types that
// encode themselves.
func (p Pipeline[Out]) EncodeConfig() ([]byte, error) {
	switch {
	case p.again == nil:
		return nil, p.Err()
	case p.replay:
		return nil, fmt.Errorf("pipeline %q runs letters, which stay in the deploying process: "+
			"it cannot be built again in another from its configuration", p.name)
	}
	return p.again.config()
}

func (c *configured[Cfg, Out]) config() (b []byte, err error) {
	defer func() {
		if err != nil {
			b, err = nil, fmt.Errorf("pipeline %q: its configuration cannot go to another process: %w", c.d.name, err)
		}
	}()
	defer survive(&err)
	codec := &msgpack.Codec{}
	t := reflect.TypeFor[Cfg]()
	if err := codec.Check(t); err != nil {
		return nil, err
	}
	b, err = codec.Append(nil, c.cfg)
	if err != nil {
		return nil, err
	}
	// A type that encodes itself may forget something: then the graph would be another one over there.
	var other Cfg
	if err := codec.Decode(b, &other); err != nil {
		return nil, fmt.Errorf("it cannot be decoded again: %w", err)
	}
	again, err := codec.Append(nil, other)
	if err != nil {
		return nil, fmt.Errorf("it cannot be encoded again: %w", err)
	}
	if !bytes.Equal(b, again) {
		return nil, fmt.Errorf("%w: a %v is not the same when it has been encoded and decoded", codecs.ErrNotEncodable, t)
	}
	return b, nil
}

// Rebuild is Definition.With in another process than the one that EncodeConfig was called in: for the packages of this
// module. Its error says that config cannot be decoded, or is all faults of the definition, joined. It survives any config, and
// runs user code: that of types that decode themselves, and the build function.
func Rebuild(b Blueprint, config []byte) (*plan.Graph, error) {
	if b == nil {
		return nil, errors.New("stages: there is no Definition to build a pipeline from: it is nil")
	}
	return b.rebuild(config)
}

func (d *Definition[Cfg, Out]) rebuild(config []byte) (*plan.Graph, error) {
	if d == nil {
		return nil, errors.New("stages: there is no Definition to build a pipeline from: it is nil")
	}
	var cfg Cfg
	if err := decodeConfig(config, &cfg); err != nil {
		return nil, fmt.Errorf("pipeline %q: its configuration cannot be decoded, so it comes from a program with another version of it: %w", d.name, err)
	}
	p := d.With(cfg)
	return p.Plan(), p.Err()
}

func decodeConfig(config []byte, into any) (err error) {
	defer survive(&err)
	return new(msgpack.Codec).Decode(config, into)
}

// survive makes a panic of the methods of a type that encodes itself an error.
func survive(err *error) {
	if r := recover(); r != nil {
		value, _ := plan.Panicked(r)
		*err = fmt.Errorf("panic: %s", value)
	}
}
