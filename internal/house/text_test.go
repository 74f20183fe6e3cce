package house_test

func textTrees() map[string][]tree {
	const record = "# Ledger\n\n## Context\n\n## Choice\n\n## Cost\n"
	return map[string][]tree{
		"unfinished": {
			{name: "words in strings and longer words", files: map[string]string{"stages/a.go": "package stages\n// TODOS and XXXL are words.\nconst s = \"TODO\"\n"}},
			{
				name: "marked in a comment, nested modules too",
				files: map[string]string{
					"stages/a.go":       "package stages\n\n/* later\nFIXME */\n// TODO(me): more\n",
					"stages/a_test.go":  "package stages\n// XXX\n",
					"benchmarks/go.mod": "module weir.test/weir/benchmarks\n",
					"benchmarks/a.go":   "package benchmarks\n// TODO\n",
				},
				want: []string{"benchmarks/a.go:2: TODO in a comment", "stages/a.go:3: FIXME", "stages/a.go:5: TODO", "stages/a_test.go:2: XXX"},
			},
		},
		"bool parameters": {
			{
				name: "results, callbacks, fields and what is not exported",
				files: map[string]string{
					"stages/a.go":               "package stages\nfunc Keep(f func(bool) bool) (ok bool) { return }\nfunc keep(all bool) {}\ntype C struct{ All bool }\ntype c int\nfunc (c) Set(all bool) {}\ntype I interface{ set(all bool) }\n",
					"actors/a.go":               "package actors\nfunc Start(all bool) {}\n",
					"supervisor/export_test.go": "package supervisor\nfunc Start(all bool) {}\n",
				},
			},
			{
				name: "exported functions, methods and interfaces",
				files: map[string]string{
					"stages/a.go":              "package stages\nfunc Keep(n int, all bool) {}\ntype C int\nfunc (c *C) Set(all ...bool) {}\ntype I interface{ Set(all bool) }\n",
					"supervisor/diagnose/d.go": "package diagnose\nfunc Report[T any](v T, short, long bool) {}\n",
				},
				want: []string{
					"stages/a.go:2: exported Keep takes a bool", "stages/a.go:4: exported C.Set takes a bool", "stages/a.go:5: exported I.Set takes a bool",
					"supervisor/diagnose/d.go:2: exported Report takes a bool",
				},
			},
		},
		"config maps": {
			{
				name:  "typed fields, and maps elsewhere",
				files: map[string]string{"stages/a.go": "package stages\ntype Config struct{ Size int; Weights map[int]string }\ntype index map[string]int\n"},
			},
			{
				name: "maps of strings",
				files: map[string]string{"stages/a.go": `package stages
type Config map[string]any
type SourceConfig struct {
	Args []map[string]string
}
type nodeConfig struct{ env map[string]string }
`},
				want: []string{"stages/a.go:2: Config holds a map of strings", "stages/a.go:4: SourceConfig holds", "stages/a.go:6: nodeConfig holds"},
			},
		},
		"doc comments": {
			{
				name: "said",
				files: map[string]string{
					"stages/doc.go": "// Package stages defines.\npackage stages\n",
					"stages/a.go": `package stages
// Map maps.
func Map() {}
// The sizes.
const (
	Small = 1
	Large = 2
)
const (
	// One is one.
	One = 1
	Two = 2 // Two is two.
	three = 3
)
// T is a type.
type T struct{ Field int }
// Run runs.
func (t T) Run() {}
func (t T) Error() string { return "" }
func (t T) run() {}
type hidden int
func (h hidden) Run() {}
`,
					"stages/a_test.go":     "package stages\nfunc Helper() {}\n",
					"examples/etl/main.go": "// Command etl loads.\npackage main\n",
					"benchmarks/go.mod":    "module weir.test/weir/benchmarks\n",
					"benchmarks/a.go":      "// Package benchmarks compares.\npackage benchmarks\nfunc Run() {}\n",
				},
			},
			{
				name: "not said",
				files: map[string]string{
					"stages/a.go": `// Package stages defines.
package stages
func Map() {}
type T int
func (t *T) Run() {}
var (
	ErrA = 1
)
const A, b = 1, 2
`,
					"actors/a.go":          "package actors\n",
					"actors/b.go":          "package actors\n",
					"codecs/a.go":          "// This package encodes.\npackage codecs\n",
					"examples/etl/main.go": "// Package main loads.\npackage main\n",
					"benchmarks/go.mod":    "module weir.test/weir/benchmarks\n",
					"benchmarks/a.go":      "package benchmarks\n",
				},
				want: []string{
					"actors/a.go:1: package in actors has no package comment",
					"benchmarks/a.go:1: package in benchmarks has no package comment",
					`codecs/a.go:1: the package comment does not begin with "Package codecs "`,
					`examples/etl/main.go:1: the package comment does not begin with "Command etl "`,
					"stages/a.go:3: exported Map has no doc comment",
					"stages/a.go:4: exported T has no",
					"stages/a.go:5: exported Run has no",
					"stages/a.go:7: exported ErrA has no",
					"stages/a.go:9: exported A has no",
				},
			},
		},
		"context first": {
			{
				name: "first, behind a testing.TB, or in a function type",
				files: map[string]string{"stages/a.go": `package stages
import ("context"; "testing")
func Map[S, In any](name string, f func(state S, ctx context.Context, v In) error) {}
type open func(n int, ctx context.Context)
func run(ctx context.Context, n int) {}
func start(t *testing.T, ctx context.Context) {}
func bench(tb testing.TB, ctx context.Context) {}
type life struct {
	// The incarnation's own.
	ctx context.Context
	stop context.CancelFunc
	parent context.Context // the run's
}
type valued struct { context.Context }
`},
			},
			{
				name: "later, or stored in silence",
				files: map[string]string{
					"stages/a.go": `package stages
import c "context"
func run(n int, ctx c.Context) {}
func (s *S) Do(n int, ctx c.Context) {}
type S interface{ Do(n int, ctx c.Context) }
type life struct {
	ctx c.Context
}
`,
					"stages/a_test.go": "package stages\nimport (\"context\"; \"testing\")\nfunc f(t *testing.T, n int, ctx context.Context) {}\n",
				},
				want: []string{
					"stages/a.go:3: run does not take its context first",
					"stages/a.go:4: S.Do does not",
					"stages/a.go:5: S.Do does not",
					"stages/a.go:7: a stored context without a comment",
					"stages/a_test.go:3: f does not",
				},
			},
		},
		"document paths": {
			{
				name: "files that exist, and what is no path of ours",
				files: map[string]string{
					"stages/map.go": "package stages\n",
					"README.md":     "See `stages/map.go`, [it](./stages/map.go#L3), github.com/else/where/stages/gone.go and stages/*_test.go.\n",
					"docs/a/b.md":   "[up](../../stages/map.go) mystages/gone.go runtime.go\n",
					"CHANGELOG.md":  "Removed stages/gone.go.\n",
				},
			},
			{
				name: "files that are gone",
				files: map[string]string{
					"stages/map.go":    "package stages\n",
					"README.md":        "# Weir\n\nSee stages/gone.go.\n",
					"docs/arch.md":     "`actors/ledger.go` and stages/map.go and [x](../internal/plan/gone.go)\n",
					"docs/guides/g.md": "(examples/etl/main.go)\n",
					"CONTRIBUTING.md":  "codecs/x.go\n",
				},
				want: []string{
					"CONTRIBUTING.md:1: there is no file codecs/x.go",
					"README.md:3: there is no file stages/gone.go",
					"docs/arch.md:1: there is no file actors/ledger.go",
					"docs/arch.md:1: there is no file internal/plan/gone.go",
					"docs/guides/g.md:1: there is no file examples/etl/main.go",
				},
			},
		},
		"promises": {
			{
				name: "no promises",
				files: map[string]string{
					"stages/a_test.go": "package stages\nfunc TestF01ItHolds(t *testing.T) {}\n",
				},
			},
			{
				name: "promises with tests",
				files: map[string]string{
					"docs/promises.md": "Shown by [TestItHolds](../stages/a_test.go), [FuzzIt](../stages/a_test.go).\n\n" +
						"| F01 | a panic | [TestF01ItHolds](../stages/b_test.go) |\n| F07 | an exit | no test |\n",
					"stages/a_test.go": "package stages\nfunc TestItHolds(t *testing.T) {}\nfunc FuzzIt(f *testing.F) {}\nfunc (s S) TestF09No() {}\n",
					"stages/b_test.go": "package stages\nfunc TestF01ItHolds(t *testing.T) {}\nfunc TestFish(t *testing.T) {}\n",
					"actors/a_test.go": "package actors\nfunc TestItHolds(t *testing.T) {}\n",
				},
			},
			{
				name: "promises without",
				files: map[string]string{
					"docs/promises.md": "[TestItHolds](../stages/a_test.go), [TestGone](../stages/a_test.go)\nand TestItHolds\n" +
						"| F01 | [TestItHolds](../stages/b_test.go), [TestF02Too](../stages/b_test.go) |\n[TestF01ItHolds](../stages/b_test.go)\n",
					"stages/a_test.go": "package stages\nfunc TestItHolds(t *testing.T) {}\n",
					"stages/b_test.go": "package stages\nfunc TestF01ItHolds(t *testing.T) {}\nfunc TestF02Too(t *testing.T) {}\n",
				},
				want: []string{
					"docs/promises.md:1: there is no test TestGone",
					"docs/promises.md:2: TestItHolds is no link",
					"docs/promises.md:3: TestItHolds is not in stages/b_test.go",
					"stages/b_test.go:2: TestF01ItHolds is not in row F01",
					"stages/b_test.go:3: TestF02Too is not in row F02",
				},
			},
		},
		"decision records": {
			{
				name: "in form",
				files: map[string]string{
					"docs/decisions/0001-own-mailbox.md": record,
					"docs/decisions/0002-grpc.md":        "# gRPC\n### Context\nx\n### Choice\ny\n### Cost\nz\n",
					"docs/decisions/README.md":           "Index.\n",
					"docs/arch.md":                       "# Architecture\n",
				},
			},
			{
				name: "out of form",
				files: map[string]string{
					"docs/decisions/0001-own-mailbox.md": record,
					"docs/decisions/0001-grpc.md":        record,
					"docs/decisions/0003-x.md":           "# X\nContext\n## Choice\n## Costs\n",
					"docs/decisions/12-short.md":         record,
					"docs/decisions/0004-Not_Lower.md":   record,
				},
				want: []string{
					"docs/decisions/0001-own-mailbox.md: number 0001 belongs to docs/decisions/0001-grpc.md",
					`docs/decisions/0003-x.md: no section "Context"; add the heading`,
					`docs/decisions/0003-x.md: no section "Cost"`,
					"docs/decisions/0004-Not_Lower.md: not the name of a decision record",
					"docs/decisions/12-short.md: not the name",
				},
			},
		},
	}
}
