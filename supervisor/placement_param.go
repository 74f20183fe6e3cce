package supervisor

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// A param is a field of a placement as flags and files have it.
type param struct {
	name   string
	field  string // the name of the type's field, in lower case, which files may use; "" if it is the same
	repeat bool   // may be given several times; in a file, a list or a mapping
	list   bool   // in a file, may be a list
	set    func(value string) (reason string, err error)
}

// A target is a placement that is being read: its params, and what is wrong with it so far.
type target struct {
	kind   string
	params []param
	faults func() []string
}

func (t target) find(name string) *param {
	for i := range t.params {
		if t.params[i].name == name {
			return &t.params[i]
		}
	}
	return nil
}

// unknown says what there is instead of name.
func (t target) unknown(name string) string {
	names := make([]string, len(t.params))
	for i, p := range t.params {
		names[i] = p.name
	}
	hint := ""
	if near, ok := nearest(name, names); ok {
		hint = "did you mean " + near + "? "
	}
	return fmt.Sprintf("%s has no %q: %sit has %s and %s", t.kind, name, hint,
		strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}

// params are those of a child. What they set may be out of range: faults tells.
func (p *Subprocess) target() target {
	return target{"subprocess", []param{
		{name: "nice", set: number(&p.Nice, mostNice)},
		{name: "cpus", list: true, set: func(value string) (string, error) {
			cpus, reason := parseCPUs(value)
			p.CPUs = append(p.CPUs, cpus...)
			return reason, nil
		}},
		{name: "procs", field: "gomaxprocs", set: number(&p.GOMAXPROCS, mostCores)},
		{name: "memory", field: "memorybytes", set: size(&p.MemoryBytes)},
		{name: "arena", field: "arenabytes", set: size(&p.ArenaBytes)},
		{name: "env", repeat: true, list: true, set: func(value string) (string, error) {
			p.Env = append(p.Env, value)
			return "", nil
		}},
	}, func() []string { return p.faults() }}
}

// target of a node whose address is known. File names are meant from dir on.
func (p *Remote) target(dir string) target {
	file := func(into *string) func(string) (string, error) {
		return func(value string) (string, error) {
			if value == "" {
				return "want the name of a file", nil
			}
			*into = within(dir, value)
			return "", nil
		}
	}
	return target{"a node", []param{
		{name: "join", set: func(value string) (string, error) {
			if value == "" {
				return "want the name of a file", nil
			}
			t, err := ReadJoinToken(within(dir, value))
			p.Join = t
			if err != nil {
				return "no token", err
			}
			return "", nil
		}},
		{name: "cert", set: file(&p.files.cert)},
		{name: "key", set: file(&p.files.key)},
		{name: "ca", set: file(&p.files.ca)},
	}, func() []string { return nil }}
}

// finish makes what the files say, when all params are set.
func (p *Remote) finish() (reason string, err error) {
	if reason, err = p.files.load(); reason != "" {
		return reason, err
	}
	p.TLS = p.files.made
	if faults := p.faults(); len(faults) > 0 {
		return faults[0], nil
	}
	return "", nil
}

func within(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func number(into *int, most int) func(string) (string, error) {
	return func(value string) (string, error) {
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Sprintf("want a number, 0 to %d", most), nil
		}
		*into = n
		return "", nil
	}
}

func size(into *int64) func(string) (string, error) {
	return func(value string) (reason string, err error) {
		*into, reason = parseSize(value)
		return reason, nil
	}
}

// A sizeUnit is a power of two, as GOMEMLIMIT has them.
type sizeUnit struct {
	name  string
	shift int
}

func sizeUnits() []sizeUnit {
	return []sizeUnit{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}, {"", 0}}
}

// parseSize reads "2GiB", "512MiB", or a number of bytes.
func parseSize(s string) (bytes int64, reason string) {
	unit := strings.TrimLeft(s, "0123456789")
	digits := s[:len(s)-len(unit)]
	if digits == "" {
		return 0, "want a size: 2GiB, 512MiB, 64KiB or a number of bytes"
	}
	for _, u := range sizeUnits() {
		if u.name != unit {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if errors.Is(err, strconv.ErrRange) || n > math.MaxInt64>>u.shift {
			return 0, "more bytes than can be counted"
		}
		return n << u.shift, ""
	}
	for _, u := range sizeUnits() {
		if u.shift > 0 && strings.EqualFold(unit[:1], u.name[:1]) && len(unit) <= len(u.name) {
			return 0, fmt.Sprintf("unit %q: did you mean %s%s?", unit, digits, u.name)
		}
	}
	return 0, fmt.Sprintf("unit %q: want KiB, MiB, GiB, TiB or none, for bytes", unit)
}

// parseCPUs reads cores as taskset and cpuset write them: "0-3,8".
func parseCPUs(s string) (cpus []int, reason string) {
	const want = "want cores by number, such as 0-3,8"
	for part := range strings.SplitSeq(s, ",") {
		low, high, isRange := strings.Cut(part, "-")
		first, err := strconv.ParseUint(low, 10, 32)
		last := first
		if err == nil && isRange {
			last, err = strconv.ParseUint(high, 10, 32)
		}
		switch {
		case errors.Is(err, strconv.ErrRange) || err == nil && max(first, last) >= mostCores:
			return nil, fmt.Sprintf("core %q, want 0 to %d", part, mostCores-1)
		case err != nil:
			return nil, want
		case last < first:
			return nil, fmt.Sprintf("cores %s end before they begin", part)
		case len(cpus)+int(last-first) >= mostCores:
			return nil, fmt.Sprintf("more cores than %d", mostCores)
		}
		for c := first; c <= last; c++ {
			cpus = append(cpus, int(c))
		}
	}
	return cpus, ""
}
