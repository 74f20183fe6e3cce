package supervisor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// Every placement that can be, and that has a form, is read as it is written.
func TestAPlacementIsReadAsItIsWritten(t *testing.T) {
	token := newToken(t, "a token, with=odd%characters&such.json")
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := anyPlacement(r, token)
		if err := errors.Join(validateOnly(p)...); err != nil {
			t.Fatalf("seed %d: %#v: %v", seed, p, err)
		}
		got, err := ParsePlacement(p.String())
		if err != nil || !reflect.DeepEqual(named(got), named(p)) {
			t.Fatalf("seed %d: %s\nis read as %#v, %v\nwant       %#v", seed, p, got, err, p)
		}
	}
}

// validateOnly is validatePlacement on a machine that has everything.
func validateOnly(p Placement) (errs []error) {
	for _, f := range faultsOf(p) {
		errs = append(errs, errors.New(f))
	}
	return errs
}

func anyPlacement(r *rand.Rand, token JoinToken) Placement {
	if r.IntN(2) == 0 {
		return anyPart(r, token)
	}
	var all Regions
	seen := map[string]bool{}
	for range 1 + r.IntN(4) {
		from, to := anyName(r), ""
		if r.IntN(2) == 0 {
			to = anyName(r)
		}
		if seen[from] || seen[to] && to != "" {
			continue
		}
		seen[from], seen[to] = true, true
		all = append(all, Region{From: from, To: to, On: anyPart(r, token)})
	}
	return all
}

func anyName(r *rand.Rand) string {
	parts := []string{"decode", "a", "..", ".", ",", "=", "?", "&", `"`, "%2C", "*", "4", " ", "://", "\n", "\x00", "\xff", "ö", "画", "\\", "�", "'"}
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

func anyPart(r *rand.Rand, token JoinToken) Placement {
	switch r.IntN(4) {
	case 0:
		return InProcess{}
	case 1:
		return anyChild(r)
	case 2:
		return anyNode(r, token)
	}
	of := Placement(anyChild(r))
	if r.IntN(2) == 0 {
		of = anyNode(r, token)
	}
	return Pool{1 + r.IntN(mostCopies), of}
}

func anyNode(r *rand.Rand, token JoinToken) Remote {
	switch r.IntN(3) {
	case 0:
		return Remote{Addr: fmt.Sprintf("tcp://127.0.0.%d:%d", r.IntN(256), 1+r.IntN(65535))}
	case 1:
		return Remote{Addr: "dns:///loaders.example:7433", Join: token}
	}
	return Remote{Addr: "tcp://[fe80::1%eth0]:1", Join: token}
}

func anyChild(r *rand.Rand) (p Subprocess) {
	maybe := func(set func()) {
		if r.IntN(2) == 0 {
			set()
		}
	}
	maybe(func() { p.Nice = r.IntN(mostNice + 1) })
	maybe(func() { p.CPUs = r.Perm(20)[:1+r.IntN(12)] })
	maybe(func() { p.GOMAXPROCS = r.IntN(mostCores + 1) })
	maybe(func() { p.MemoryBytes = leastMemory + r.Int64N(1<<40)>>r.IntN(30)<<r.IntN(20) })
	maybe(func() { p.ArenaBytes = leastArena << r.IntN(20) })
	maybe(func() {
		seen := map[string]bool{}
		for range 1 + r.IntN(3) {
			if key := strings.NewReplacer("=", "", "\x00", "").Replace(anyName(r)); key != "" && !seen[key] {
				p.Env, seen[key] = append(p.Env, key), true
			}
		}
	})
	return p
}

// Nothing makes it panic; what it reads is without fault, is written in a form without secrets, and that is read as the
// same.
func FuzzParsePlacement(f *testing.F) {
	for _, tt := range read() {
		f.Add(tt.text)
	}
	for _, s := range []string{"a=subprocess?cpus=0,", "x.yaml", "tcp://h:1?cert=a&key=b&ca=c", "a..b=4*", "\"\\x\"=", "tcp://[::1%%]:1", ",", "4*4*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if isPlacementFile(s) || strings.Contains(s, "join") || strings.Contains(s, "cert") {
			t.Skip("files")
		}
		p, err := ParsePlacement(s)
		if err != nil {
			e, ok := errors.AsType[*PlacementError](err)
			if p != nil || !ok || e.Column < 1 || e.Column > len(s)+1 || e.Placement != s || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: %v, %#v", s, p, err)
			}
			return
		}
		if err := errors.Join(validateOnly(p)...); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		again, err := ParsePlacement(p.String())
		if err != nil || !reflect.DeepEqual(named(again), named(withoutValues(p))) {
			t.Fatalf("%q is written %q and read as %#v, %v", s, p, again, err)
		}
		if again.String() != p.String() {
			t.Fatalf("%q is written %q and then %q", s, p, again)
		}
	})
}

// withoutValues is p with the keys of Env only.
func withoutValues(p Placement) Placement {
	switch p := p.(type) {
	case Subprocess:
		var keys []string
		for _, e := range p.Env {
			key, _, _ := strings.Cut(e, "=")
			keys = append(keys, key)
		}
		p.Env = keys
		return p
	case Pool:
		return Pool{p.Size, withoutValues(p.Of)}
	case Regions:
		var all Regions
		for _, r := range p {
			all = append(all, Region{r.From, r.To, withoutValues(r.On)})
		}
		return all
	}
	return p
}

// Whatever is in a file, nothing panics; faults say the file, and what is read is without fault.
func FuzzPlacementFile(f *testing.F) {
	f.Add([]byte("subprocess:\n  nice: 10\n  cpus: [0, 1-3]\n  env: {A: b, C: }\n"), false)
	f.Add([]byte("- {from: a, to: b, on: {pool: {size: 4, of: subprocess}}}\n- {from: c, on: 2*subprocess}\n"), false)
	f.Add([]byte(`{"regions": [{"from": "a", "on": {"remote": {"addr": "tcp://localhost:1"}}}]}`), true)
	f.Add([]byte("a: &x 1\nb: *x\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, isJSON bool) {
		if strings.Contains(strings.ToLower(string(text)), "join") || strings.Contains(string(text), "\\") {
			t.Skip("files")
		}
		tree := yamlTree
		if isJSON {
			tree = jsonTree
		}
		r := &fileReader{path: "x.yaml"}
		root, line, reason := tree(text)
		if reason != "" {
			if line < 0 || line > 2+strings.Count(string(text), "\n")+strings.Count(string(text), "\r") {
				t.Skip("the YAML library counts other characters as ends of lines, too")
			}
			return
		}
		p := r.placement(root, "")
		if len(r.faults) > 0 {
			return
		}
		if p == nil {
			t.Fatal("no placement, no fault")
		}
		if err := errors.Join(validateOnly(p)...); err != nil {
			t.Fatal(err)
		}
	})
}
