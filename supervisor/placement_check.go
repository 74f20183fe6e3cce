package supervisor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	mostNice   = 19 // setpriority(2)
	mostCores  = 8192
	mostCopies = 1024 // more are a slip of the finger

	leastMemory = 1 << 20
	leastArena  = 16 << 10 // smaller payloads do not go there
)

// validatePlacement returns all that is wrong with at whatever the graph is, joined: each is a *PlacementError.
func validatePlacement(at Placement) error {
	return placementErrors(at, append(faultsOf(at), faultsHere(at)...))
}

// validateStages returns all that is wrong with at for a graph with these stages, joined: each is a *PlacementError.
func validateStages(at Placement, stages []string) error {
	regions, _ := at.(Regions)
	var faults []string
	for _, r := range regions {
		for _, name := range []string{r.From, r.To} {
			if name == "" || slices.Contains(stages, name) {
				continue
			}
			faults = append(faults, fmt.Sprintf("region %s: there is no stage %q%s", r.name(), name, choice(name, stages)))
		}
	}
	return placementErrors(at, faults)
}

func placementErrors(at Placement, faults []string) error {
	var all []error
	for _, reason := range faults {
		all = append(all, &PlacementError{Placement: describePlacement(at), Reason: reason})
	}
	return errors.Join(all...)
}

// describePlacement is String for placements of this package, and says of others what they are.
func describePlacement(at Placement) string {
	switch at.(type) {
	case InProcess, Subprocess, Remote, Pool, Regions:
		return at.String()
	}
	return fmt.Sprintf("%T", at)
}

// faultsOf says what is wrong with at on any machine and for any graph.
func faultsOf(at Placement) []string {
	switch p := at.(type) {
	case InProcess:
		return nil
	case Subprocess:
		return p.faults()
	case Remote:
		return p.faults()
	case Pool:
		return p.faults()
	case Regions:
		return p.faults()
	case nil:
		return []string{"nil is no placement"}
	case *InProcess, *Subprocess, *Remote, *Pool, *Regions:
		return []string{"a pointer: want the value, " + strings.TrimPrefix(fmt.Sprintf("%T", at), "*")}
	}
	return []string{"not one of this package"}
}

func (p Subprocess) faults() (faults []string) {
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	add(p.Nice < 0 || p.Nice > mostNice, "nice is %d, want 0 to %d", p.Nice, mostNice)
	seen := map[int]bool{}
	for _, c := range p.CPUs {
		add(c < 0 || c >= mostCores, "core %d, want 0 to %d", c, mostCores-1)
		add(seen[c], "core %d twice", c)
		seen[c] = true
	}
	add(p.GOMAXPROCS < 0 || p.GOMAXPROCS > mostCores, "procs is %d, want 0 to %d", p.GOMAXPROCS, mostCores)
	add(p.MemoryBytes < 0 || 0 < p.MemoryBytes && p.MemoryBytes < leastMemory,
		"memory is %d bytes, want at least %s, or 0 for no limit", p.MemoryBytes, formatSize(leastMemory))
	add(p.ArenaBytes < 0 || 0 < p.ArenaBytes && p.ArenaBytes < leastArena,
		"arena is %d bytes, want at least %s, or 0 for 64MiB", p.ArenaBytes, formatSize(leastArena))
	keys := map[string]bool{}
	for _, e := range p.Env {
		key, _, _ := strings.Cut(e, "=")
		add(key == "", "env has an entry without a key: want KEY=value, or KEY")
		add(strings.Contains(e, "\x00"), "env %q has a zero byte", strings.ReplaceAll(key, "\x00", ""))
		add(key != "" && keys[key], "env %q twice", key)
		keys[key] = true
	}
	add(p.GOMAXPROCS > 0 && keys["GOMAXPROCS"], `env "GOMAXPROCS" and procs: want one of them`)
	add(p.MemoryBytes > 0 && keys["GOMEMLIMIT"], `env "GOMEMLIMIT" and memory: want one of them`)
	return faults
}

func (p Pool) faults() (faults []string) {
	if p.Size < 1 || p.Size > mostCopies {
		faults = append(faults, fmt.Sprintf("a pool of %d copies, want 1 to %d", p.Size, mostCopies))
	}
	if p.Of == nil {
		return append(faults, "a pool of nothing: Of is nil, want Subprocess or Remote")
	}
	if reason := notInPool(p.Of); reason != "" {
		return append(faults, reason)
	}
	return append(faults, faultsOf(p.Of)...)
}

// notInPool says why a pool cannot be of p, or "".
func notInPool(p Placement) string {
	switch p.(type) {
	case Pool:
		return "a pool of pools: want Subprocess or Remote in a pool"
	case InProcess:
		return "a pool of InProcess: want Subprocess or Remote in a pool; in this process, the stages' Mailbox is what has them work on more items at once"
	case Regions:
		return "a pool of Regions: want a pool in each region"
	}
	return ""
}

func (p Regions) faults() (faults []string) {
	taken := map[string]int{} // of a stage, the region that begins or ends with it, from 1
	for i, r := range p {
		name := "region " + r.name()
		if r.From == "" {
			faults = append(faults, fmt.Sprintf("region %d: From is empty", i+1))
		}
		if reason := r.overlaps(i+1, taken); reason != "" {
			faults = append(faults, name+": "+reason)
		}
		switch r.On.(type) {
		case nil:
			faults = append(faults, name+": On is nil")
		case Regions:
			faults = append(faults, name+": Regions within a region")
		default:
			for _, reason := range faultsOf(r.On) {
				faults = append(faults, name+": "+reason)
			}
		}
	}
	return faults
}

// overlaps says which end of the region, the i-th, another region has, or "". The stages between are the graph's affair.
func (r Region) overlaps(i int, taken map[string]int) (reason string) {
	for _, stage := range []string{r.From, r.To} {
		if other := taken[stage]; stage != "" && other != 0 && other != i {
			reason = fmt.Sprintf("stage %q is in another region, too", stage)
		}
		taken[stage] = i
	}
	return reason
}

// faultsHere says what is wrong with at on this machine and in this process.
func faultsHere(at Placement) (faults []string) {
	switch p := at.(type) {
	case Subprocess:
		online, known := onlineCPUs()
		for _, c := range p.CPUs {
			if known && 0 <= c && c < mostCores && !slices.Contains(online, c) {
				faults = append(faults, fmt.Sprintf("there is no core %d: this machine has %s", c, formatCPUs(online)))
			}
		}
		for _, e := range p.Env {
			if _, is := os.LookupEnv(e); !is && e != "" && !strings.Contains(e, "=") {
				faults = append(faults, fmt.Sprintf("env %q is not set in this process: want it set, or %q", e, e+"=value"))
			}
		}
	case Pool:
		if notInPool(p.Of) == "" {
			faults = faultsHere(p.Of)
		}
	case Regions:
		for _, r := range p {
			if _, nested := r.On.(Regions); nested {
				continue
			}
			for _, reason := range faultsHere(r.On) {
				faults = append(faults, "region "+r.name()+": "+reason)
			}
		}
	}
	return faults
}

// choice tells what there is instead of an unknown name.
func choice(name string, among []string) string {
	const most = 40
	hint := ""
	if near, ok := nearest(name, among); ok {
		hint = ": did you mean " + strconv.Quote(near) + "?"
	}
	if len(among) == 0 {
		return hint
	}
	quoted := make([]string, 0, len(among))
	for _, a := range among[:min(len(among), most)] {
		quoted = append(quoted, strconv.Quote(a))
	}
	if more := len(among) - most; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	list := strings.Join(quoted[:len(quoted)-1], ", ")
	if list != "" {
		list += " and "
	}
	sep := ": there is "
	if len(among) > 1 {
		sep = ": there are "
	}
	if hint != "" {
		sep = " There are "
		if len(among) == 1 {
			sep = " There is "
		}
	}
	return hint + sep + list + quoted[len(quoted)-1]
}
