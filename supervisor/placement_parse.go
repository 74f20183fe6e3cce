package supervisor

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// ParsePlacement reads a placement from a flag or an environment:
//
//	inprocess
//	subprocess                     subprocess?nice=10&cpus=0-3&memory=2GiB&procs=4&arena=128MiB&env=KEY%3Dvalue
//	tcp://host:port?join=FILE      dns:///name:port?cert=FILE&key=FILE&ca=FILE
//	4*subprocess                   a pool
//	decode..resize=4*subprocess    a region; several are separated by commas
//	placement.yaml, .yml, .json    a file with the fields of the types
//
// Sizes are bytes or have a unit, KiB, MiB, GiB or TiB. env may be given several times, and env=KEY takes the value from this
// process. In values, %2C stands for a comma, and so for all characters. A stage's name that a part of could be taken for
// something else is quoted as in Go: "a..b"=subprocess. The files that join, cert, key and ca name are read at once; ca may be
// missing, for those that this system trusts.
//
// The error is a *PlacementError with the position; of a file they are several, joined, each with its line. What this machine
// does not have, such as cores, and stages that the graph does not have, are found by Deploy.
func ParsePlacement(s string) (Placement, error) {
	if isPlacementFile(s) {
		return readPlacementFile(s)
	}
	return parsing{text: s}.placement()
}

// A parsing is the reading of one text.
type parsing struct {
	text string
	file string // that it stands in, "" if in none
	line int
	dir  string // that names of files are meant from
}

// fail is a mistake at a place of the text, counted from 0.
func (p parsing) fail(at int, reason string) error { return p.failed(at, reason, nil) }

func (p parsing) failed(at int, reason string, err error) error {
	return &PlacementError{Placement: p.text, Column: at + 1, File: p.file, Line: p.line, Reason: reason, Err: err}
}

// known are the forms, for whoever has written another one.
const known = `want "inprocess", "subprocess", tcp://HOST:PORT, dns:///NAME:PORT, 4*subprocess, STAGE..STAGE=subprocess, or a file, .yaml or .json`

func (p parsing) placement() (Placement, error) {
	switch trimmed := strings.TrimSpace(p.text); {
	case trimmed == "":
		return nil, p.fail(0, "empty: "+known)
	case trimmed != p.text:
		return nil, p.fail(0, "spaces around it")
	case startsRegion(p.text):
		return p.regions()
	}
	return p.single(0, len(p.text))
}

// startsRegion reports whether s begins with the name of a region: with a quote, or there is "=" or a second name in quotes
// before anything else that separates.
func startsRegion(s string) bool {
	name := s
	if i := strings.IndexAny(s, ",&?="); i >= 0 {
		if name = s[:i]; s[i] == '=' {
			return true
		}
	}
	return strings.HasPrefix(s, `"`) || strings.Contains(name, `.."`)
}

// regions reads NAME=PLACEMENT, separated by commas.
func (p parsing) regions() (Placement, error) {
	var all Regions
	taken := map[string]int{}
	for at := 0; ; {
		var r Region
		start := at
		var err error
		if r.From, at, err = p.stage(at); err != nil {
			return nil, err
		}
		if rest, ok := strings.CutPrefix(p.text[at:], ".."); ok {
			if r.To, at, err = p.stage(len(p.text) - len(rest)); err != nil {
				return nil, err
			}
		}
		if !strings.HasPrefix(p.text[at:], "=") {
			return nil, p.fail(at, "want = and the placement of the region")
		}
		at++
		if reason := r.overlaps(len(all)+1, taken); reason != "" {
			return nil, p.fail(start, reason)
		}
		end := p.end(at)
		if r.On, err = p.single(at, end); err != nil {
			return nil, err
		}
		all = append(all, r)
		if end == len(p.text) {
			return all, nil
		}
		at = end + 1
	}
}

// stage reads a stage's name, quoted or not, and returns where it ends.
func (p parsing) stage(at int) (name string, end int, err error) {
	rest := p.text[at:]
	if strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", 0, p.fail(at, "the quotes do not end, or hold what Go does not read")
		}
		name, _ = strconv.Unquote(quoted) // it is one
		if name == "" {
			return "", 0, p.fail(at, "want the name of a stage between the quotes")
		}
		return name, at + len(quoted), nil
	}
	n := strings.IndexAny(rest, ",&?=\"")
	if n < 0 {
		n = len(rest)
	}
	if dots := strings.Index(rest[:n], ".."); dots >= 0 {
		n = dots
	}
	switch name = rest[:n]; {
	case name == "":
		return "", 0, p.fail(at, "want the name of a stage")
	case strings.Trim(name, " ") != name:
		return "", 0, p.fail(at, "spaces around the name of a stage: if they belong to it, quote it")
	case strings.HasPrefix(name, "."):
		return "", 0, p.fail(at, "more than two dots: if they belong to the name of a stage, quote it")
	}
	if digits, of, ok := strings.Cut(name, "*"); ok && isNumber(digits) {
		return "", 0, p.fail(at, fmt.Sprintf("a pool of a region: want a region on a pool, %s=%s*subprocess", of, digits))
	}
	return name, at + n, nil
}

// end returns where the placement that begins at from ends: at a comma, of those behind a question mark only at one that
// a region follows.
func (p parsing) end(from int) int {
	query := false
	for i := from; i < len(p.text); i++ {
		switch p.text[i] {
		case '?':
			query = true
		case ',':
			if !query || startsRegion(p.text[i+1:]) {
				return i
			}
		}
	}
	return len(p.text)
}

// single reads a placement that is not Regions.
func (p parsing) single(from, to int) (Placement, error) {
	text := p.text[from:to]
	if digits, of, ok := strings.Cut(text, "*"); ok && isNumber(digits) {
		return p.pool(from, to, digits, of)
	}
	head, _, hasParams := strings.Cut(text, "?")
	params := from + len(head) + 1
	switch {
	case head == "inprocess" && hasParams:
		return nil, p.fail(params-1, "inprocess has no parameters")
	case head == "inprocess":
		return InProcess{}, nil
	case head == "subprocess":
		var s Subprocess
		if hasParams {
			if err := p.params(params, to, s.target()); err != nil {
				return nil, err
			}
		}
		return s, nil
	case strings.Contains(head, "://"):
		r := Remote{Addr: head}
		if _, reason := splitAddr(head); reason != "" {
			return nil, p.fail(from, reason)
		}
		if hasParams {
			if err := p.params(params, to, r.target(p.dir)); err != nil {
				return nil, err
			}
		}
		if reason, err := r.finish(); reason != "" {
			return nil, p.failed(from, reason, err)
		}
		return r, nil
	case text == "":
		return nil, p.fail(from, "want a placement")
	case isPlacementFile(text):
		return nil, p.fail(from, "a file says where everything is, and not a part: want what is in it")
	}
	hint := ""
	if near, ok := nearest(head, []string{"inprocess", "subprocess"}); ok {
		hint = "did you mean " + near + "? "
	}
	return nil, p.fail(from, "not known: "+hint+known)
}

func (p parsing) pool(from, to int, digits, of string) (Placement, error) {
	size, err := strconv.Atoi(digits)
	if err != nil || size < 1 || size > mostCopies {
		return nil, p.fail(from, fmt.Sprintf("a pool of %s copies, want 1 to %d", digits, mostCopies))
	}
	at := to - len(of)
	if more, _, ok := strings.Cut(of, "*"); ok && isNumber(more) {
		return nil, p.fail(at, notInPool(Pool{}))
	}
	inner, err := p.single(at, to)
	if err != nil {
		return nil, err
	}
	if reason := notInPool(inner); reason != "" {
		return nil, p.fail(at, reason)
	}
	return Pool{Size: size, Of: inner}, nil
}

// params reads KEY=VALUE, separated by &.
func (p parsing) params(from, to int, t target) error {
	given := map[string]bool{}
	for at := from; at <= to; {
		part, _, _ := strings.Cut(p.text[at:to], "&")
		key, value, ok := strings.Cut(part, "=")
		into := t.find(key)
		switch {
		case key == "tls" && !ok && t.find("cert") != nil:
			return p.fail(at, "stands for TLS that was set up in code: want cert=FILE&key=FILE&ca=FILE")
		case into == nil && key == "":
			return p.fail(at, "want KEY=VALUE")
		case into == nil:
			return p.fail(at, t.unknown(key))
		case !ok:
			return p.fail(at, "want "+key+"=VALUE")
		case given[key] && !into.repeat:
			return p.fail(at, key+" twice")
		}
		given[key] = true
		decoded, err := url.PathUnescape(value)
		if err != nil {
			return p.fail(at, "want two hexadecimal digits after %, and %25 for % itself")
		}
		if reason, err := into.set(decoded); reason != "" {
			return p.failed(at, key+": "+reason, err)
		}
		if faults := t.faults(); len(faults) > 0 {
			return p.fail(at, faults[0])
		}
		at += len(part) + 1
	}
	return nil
}

// isNumber reports whether s is digits only.
func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
