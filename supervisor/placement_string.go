package supervisor

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// String returns "inprocess".
func (InProcess) String() string { return "inprocess" }

// String returns "subprocess", and what is not zero: "subprocess?nice=10&cpus=0-3&memory=2GiB". Of Env it shows the keys.
func (p Subprocess) String() string {
	var q query
	if p.Nice != 0 {
		q.add("nice", strconv.Itoa(p.Nice))
	}
	if len(p.CPUs) > 0 {
		q.add("cpus", formatCPUs(p.CPUs))
	}
	if p.GOMAXPROCS != 0 {
		q.add("procs", strconv.Itoa(p.GOMAXPROCS))
	}
	if p.MemoryBytes != 0 {
		q.add("memory", formatSize(p.MemoryBytes))
	}
	if p.ArenaBytes != 0 {
		q.add("arena", formatSize(p.ArenaBytes))
	}
	for _, e := range p.Env {
		key, _, _ := strings.Cut(e, "=")
		q.add("env", escape(key))
	}
	return "subprocess" + q.String()
}

// String returns the address, and the files that the secrets are in: "tcp://host:7433?join=node.token".
func (p Remote) String() string {
	var q query
	switch {
	case p.TLS == nil:
	case p.TLS == p.files.made:
		q.add("cert", escape(p.files.cert))
		q.add("key", escape(p.files.key))
		if p.files.ca != "" {
			q.add("ca", escape(p.files.ca))
		}
	default:
		q.parts = append(q.parts, "tls")
	}
	if p.Join != (JoinToken{}) {
		q.add("join", escape(p.Join.path))
	}
	return p.Addr + q.String()
}

// String returns the number of copies and what they are copies of: "4*subprocess".
func (p Pool) String() string { return strconv.Itoa(p.Size) + "*" + nested(p.Of) }

// String returns the regions, separated by commas: "decode..resize=4*subprocess,embed=subprocess". It is "inprocess" if
// there are none.
func (p Regions) String() string {
	if len(p) == 0 {
		return InProcess{}.String()
	}
	parts := make([]string, len(p))
	for i, r := range p {
		parts[i] = r.name() + "=" + nested(r.On)
	}
	return strings.Join(parts, ",")
}

// nested shows a placement in another one. Regions are refused there, and may contain themselves: it does not look into them.
func nested(p Placement) string {
	switch p := p.(type) {
	case InProcess, Subprocess, Remote:
		return p.String()
	case Pool:
		if _, ok := p.Of.(Pool); ok {
			return strconv.Itoa(p.Size) + "*[pool]"
		}
		return p.String()
	case Regions:
		return "[regions]"
	}
	return fmt.Sprintf("[%T]", p)
}

// A query is the part of a placement behind the question mark.
type query struct{ parts []string }

func (q *query) add(key, value string) { q.parts = append(q.parts, key+"="+value) }

func (q *query) String() string {
	if len(q.parts) == 0 {
		return ""
	}
	return "?" + strings.Join(q.parts, "&")
}

// escape writes a value so that nothing in it means anything to ParsePlacement, or to a shell.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_./:@+~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// quoteStage writes a stage's name: as it is if nobody could take a part of it for something else.
func quoteStage(name string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '.' || r == '/' || r == ' '
	}
	odd := name == "" || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) || r == unicode.ReplacementChar }) ||
		strings.Contains(name, "..") || strings.Trim(name, ". ") != name
	if odd {
		return strconv.Quote(name)
	}
	return name
}

// formatCPUs writes cores as taskset and cpuset do: "0-3,8".
func formatCPUs(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		last := i
		for last+1 < len(cpus) && cpus[last+1] == cpus[last]+1 {
			last++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if last > i {
			b.WriteString("-" + strconv.Itoa(cpus[last]))
		}
		i = last + 1
	}
	return b.String()
}

// formatSize writes a size in the largest unit that it is a whole number of.
func formatSize(n int64) string {
	for _, u := range sizeUnits() {
		if u.shift > 0 && n != 0 && n&(1<<u.shift-1) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
