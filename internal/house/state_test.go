package house_test

import (
	"strings"

	"github.com/weirflow/weir/internal/house"
)

func stateTrees() map[string][]tree {
	const told = "\t// Owner: the session. Ends when the peer closes. Close waits for it.\n"
	return map[string][]tree{
		"globals": {
			{
				name: "what nothing changes",
				files: map[string]string{
					"stages/errors.go": `package stages
import ("errors"; "fmt"; "io"; _ "embed")
var ErrFull = errors.New("stages: full")
var (
	ErrOne = errors.New("one")
	ErrTwo, errThree = fmt.Errorf("two: %w", ErrOne), errors.New("three")
)
var _ io.Closer = closer{}
type closer struct{}
func (closer) Close() error { var local int; _ = local; return nil }
func (closer) init() {}
const size = 1
//go:embed page.html
var page []byte
`,
					"examples/etl/main.go": `package main
import (_ "image/png"; "weir.test/weir/stages")
var etl = stages.Define("etl", nil)
`,
					"cmd/tool/main.go":   "package main\nimport _ \"image/png\"\n",
					"stages/map_test.go": "package stages\nimport \"weir.test/weir/stages\"\nvar sink int\nvar p = stages.Define(\"p\", nil)\n",
				},
			},
			{
				name: "what somebody can change",
				files: map[string]string{
					"stages/kind.go": `package stages
import "sync"
var kinds = map[string]int{}
var (
	mu sync.Mutex
	a, b = 1, 2
)
`,
					"stages/flow.go":       "package stages\nimport \"weir.test/weir/stages\"\nvar p = stages.Define(\"p\", nil)\n",
					"examples/etl/main.go": "package main\nvar verbose bool\n",
				},
				want: []string{
					"examples/etl/main.go:2: package variable verbose can change",
					"stages/flow.go:3: package variable p can change",
					"stages/kind.go:3: package variable kinds can change",
					"stages/kind.go:5: package variable mu can change",
					"stages/kind.go:6: package variable a can change",
					"stages/kind.go:6: package variable b can change",
				},
			},
			{
				name: "init and imports for side effects",
				files: map[string]string{
					"codecs/codec.go":    "package codecs\nimport _ \"image/png\"\nfunc init() {}\n",
					"codecs/c_test.go":   "package codecs\nimport _ \"image/png\"\nfunc init() {}\n",
					"benchmarks/go.mod":  "module weir.test/weir/benchmarks\n",
					"benchmarks/peer.go": "package benchmarks\nimport _ \"image/png\"\nvar peers = map[string]int{}\nfunc init() {}\n",
				},
				want: []string{
					"benchmarks/peer.go:4: func init",
					"codecs/c_test.go:2: import of image/png for its side effects",
					"codecs/c_test.go:3: func init",
					"codecs/codec.go:2: import of image/png for its side effects",
					"codecs/codec.go:3: func init",
				},
			},
			{
				name:  "a table is listed, one by one",
				files: map[string]string{"stages/kind.go": "package stages\nvar names = [...]string{\"map\"}\nvar others = [...]string{\"map\"}\n"},
				lists: house.Lists{Globals: map[string]string{"stages/kind.go names": "read only", "stages/kind.go gone": "read only"}},
				want: []string{
					"stages/kind.go:3: package variable others can change",
					house.ListsFile + `: "stages/kind.go gone" is an exception`,
				},
			},
		},
		"goroutines": {
			{
				name: "listed, and told",
				files: map[string]string{
					"actors/system.go": "package actors\nfunc f() {\n" + told + "\tgo g()\n\tfor range 2 {\n" + told + "\t\twg.Go(func() {})\n\t}\n}\n",
					"actors/x_test.go": "package actors\nfunc f() {\n\tgo g()\n}\n",
					"stages/stagetest/run.go": "package stagetest\nfunc f() {\n" +
						"\t// Owned by the probe; it runs until the\n\t// stage returns. Nobody waits: the process ends.\n\tgo g()\n}\n",
					"benchmarks/go.mod":  "module weir.test/weir/benchmarks\n",
					"benchmarks/peer.go": "package benchmarks\nfunc f() {\n\tgo g()\n}\n",
				},
				lists: house.Lists{Goroutines: map[string]string{"actors/system.go": "workers", "stages/stagetest/run.go": "the probe"}},
			},
			{
				name: "not listed",
				files: map[string]string{
					"actors/system.go": "package actors\nfunc f() {\n" + told + "\tgo g()\n}\n",
					"actors/worker.go": "package actors\nfunc f() {\n" + told + "\tx.wg.Go(g)\n}\n",
				},
				want: []string{
					"actors/system.go:4: a goroutine starts in a file that is not listed",
					"actors/worker.go:4: a goroutine starts in a file that is not listed",
				},
			},
			{
				name: "listed, but not told",
				files: map[string]string{
					"actors/a.go": "package actors\nfunc f() {\n\tgo g()\n}\n",
					"actors/b.go": "package actors\nfunc f() {\n" + told + "\n\tgo g()\n}\n",
					"actors/c.go": "package actors\nfunc f() {\n" + told + "\tgo g()\n\tgo g()\n}\n",
					"actors/d.go": "package actors\nfunc f() {\n\t// Owner: the session. Close waits for it.\n\tgo g()\n}\n",
					"actors/e.go": "package actors\nfunc f() {\n\t// Owner: the session. Ends when the peer closes.\n\tgo g()\n}\n",
				},
				lists: house.Lists{Goroutines: map[string]string{"actors/": "all", "supervisor/x.go": "gone"}},
				want: []string{
					"actors/a.go:3: the comment directly above does not say who owns",
					"actors/b.go:5: the comment directly above does not say who owns",
					"actors/c.go:5: the comment directly above does not say who owns",
					"actors/d.go:4: the comment directly above does not say what ends it",
					"actors/e.go:4: the comment directly above does not say who waits",
					house.ListsFile + `: "supervisor/x.go" is an exception`,
				},
			},
			{
				name:  "package stages cannot be listed",
				files: map[string]string{"stages/map.go": "package stages\nfunc f() {\n" + told + "\tgo g()\n}\n"},
				lists: house.Lists{Goroutines: map[string]string{"stages/map.go": "please"}},
				want: []string{
					"stages/map.go:4: package stages starts a goroutine",
					house.ListsFile + `: "stages/map.go" is an exception`,
				},
			},
		},
		"file length": {
			{
				name: "just under",
				files: map[string]string{
					"actors/a.go":      "package actors\n" + strings.Repeat("//\n", 398),
					"actors/a_test.go": "package actors\n" + strings.Repeat("//\n", 598),
					"actors/pb.go":     "// Code generated by protoc. DO NOT EDIT.\n\npackage actors\n" + strings.Repeat("//\n", 2000),
				},
			},
			{
				name: "just over, nested modules too",
				files: map[string]string{
					"actors/a.go":       "package actors\n" + strings.Repeat("//\n", 399),
					"actors/a_test.go":  "package actors\n" + strings.Repeat("//\n", 598) + "//",
					"benchmarks/go.mod": "module weir.test/weir/benchmarks\n",
					"benchmarks/a.go":   "package benchmarks\n" + strings.Repeat("//\n", 500),
				},
				want: []string{"actors/a.go:400: 400 lines", "actors/a_test.go:600: 600 lines", "benchmarks/a.go:501: 501 lines"},
			},
		},
	}
}
