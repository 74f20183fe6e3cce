package house_test

import "github.com/weirflow/weir/internal/house"

const ours = "weir.test/weir/"

// imports is a file of the package with the imports.
func imports(pkg string, paths ...string) string {
	src := "package " + pkg + "\n"
	for _, p := range paths {
		src += "import \"" + p + "\"\n"
	}
	return src
}

func importTrees() map[string][]tree {
	return map[string][]tree{
		"imports": {
			{
				name: "the chain downward is allowed",
				files: map[string]string{
					"examples/etl/main.go":     imports("main", ours+"supervisor", ours+"stages", ours+"codecs/msgpack"),
					"supervisor/deploy.go":     imports("supervisor", ours+"actors", ours+"internal/plan", ours+"internal/link"),
					"actors/system.go":         imports("actors", ours+"stages", ours+"internal/plan", ours+"internal/restart"),
					"stages/map.go":            imports("stages", ours+"internal/plan", ours+"codecs"),
					"internal/link/session.go": imports("link", ours+"internal/wire", ours+"codecs"),
					"internal/plan/plan.go":    imports("plan", "context", ours+"codecs"),
				},
			},
			{
				name: "nothing points back up",
				files: map[string]string{
					"actors/system.go":          imports("actors", ours+"supervisor"),
					"stages/map.go":             imports("stages", ours+"codecs", ours+"actors"),
					"codecs/codec.go":           imports("codecs", ours+"internal/plan"),
					"codecs/msgpack/codec.go":   imports("msgpack", ours+"codecs", ours+"stages"),
					"internal/plan/plan.go":     imports("plan", ours+"stages"),
					"internal/restart/count.go": imports("restart", ours+"codecs"),
				},
				want: []string{
					"actors/system.go:2: actors imports supervisor,",
					"codecs/codec.go:2: codecs imports internal/plan,",
					"codecs/msgpack/codec.go:3: codecs imports stages,",
					"internal/plan/plan.go:2: internal/plan imports stages,",
					"internal/restart/count.go:2: internal/restart imports codecs,",
					"stages/map.go:3: stages imports actors,",
				},
			},
			{
				name:  "examples import only what users can",
				files: map[string]string{"examples/etl/main.go": imports("main", ours+"internal/plan")},
				want:  []string{"examples/etl/main.go:2: examples imports internal/plan,"},
			},
			{
				name: "only an external test imports upward",
				files: map[string]string{
					"stages/map_test.go":     imports("stages_test", ours+"supervisor"),
					"stages/inside_test.go":  imports("stages", ours+"supervisor"),
					"supervisor/run_test.go": imports("supervisor", ours+"stages"),
				},
				want: []string{"stages/inside_test.go:2: stages imports supervisor, which does not stand below it; move the test to an external package, stages_test"},
			},
			{
				name: "test helpers stay out of what ships",
				files: map[string]string{
					"stages/map.go":                     imports("stages", "testing"),
					"stages/kind.go":                    imports("stages", ours+"stages/stagetest"),
					"stages/map_test.go":                imports("stages", "testing", "testing/synctest"),
					"stages/stagetest/run.go":           imports("stagetest", "testing", ours+"stages"),
					"supervisor/supervisortest/base.go": imports("supervisortest", "testing", ours+"stages/stagetest"),
				},
				want: []string{
					"stages/kind.go:2: code that ships imports the test helpers of stages/stagetest",
					"stages/map.go:2: code that ships imports testing",
				},
			},
			{
				name:  "a new top-level package needs a layer",
				files: map[string]string{"util/a.go": imports("util"), "util/b.go": imports("util"), "internal/misc/m.go": imports("misc")},
				want: []string{
					`internal/misc/m.go:1: package directory "internal/misc" belongs to no layer`,
					`util/a.go:1: package directory "util" belongs to no layer`,
				},
			},
			{
				name: "a nested module imports what it likes",
				files: map[string]string{
					"benchmarks/go.mod":  "module weir.test/weir/benchmarks\n",
					"benchmarks/peer.go": imports("benchmarks", ours+"supervisor", "example.org/peer"),
				},
			},
		},
		"outside world": {
			{
				name: "a definition sees no file, socket or process",
				files: map[string]string{
					"stages/map.go":           imports("stages", "context", "os"),
					"stages/net.go":           imports("stages", "net/http", "syscall"),
					"stages/deadletter/df.go": imports("deadletter", "os/exec"),
				},
				want: []string{
					"stages/deadletter/df.go:2: stages imports os/exec",
					"stages/map.go:3: stages imports os",
					"stages/net.go:2: stages imports net/http",
					"stages/net.go:3: stages imports syscall",
				},
			},
			{
				name: "a listed file may use what is listed for it",
				files: map[string]string{
					"stages/files.go":         imports("stages", "os", "io/fs", "net"),
					"stages/deadletter/df.go": imports("deadletter", "os"),
				},
				lists: house.Lists{Outside: map[string]string{
					"stages/files.go os": "lists files", "stages/files.go io/fs": "lists files", "stages/deadletter/ os": "writes files",
				}},
				want: []string{"stages/files.go:4: stages imports net"},
			},
			{
				name: "tests and other layers are free",
				files: map[string]string{
					"stages/files_test.go": imports("stages_test", "os"),
					"supervisor/spawn.go":  imports("supervisor", "os", "net"),
					"stagesque/x.go":       imports("stagesque", "os"),
				},
			},
			{
				name:  "an exception that nothing needs is found",
				lists: house.Lists{Outside: map[string]string{"stages/files.go os": "lists files", "stages/old.go os": ""}},
				files: map[string]string{"stages/files.go": imports("stages", "os")},
				want: []string{
					house.ListsFile + `: "stages/old.go os" is an exception to "outside world" that nothing needs; remove it`,
					house.ListsFile + `: the exception "stages/old.go os" to "outside world" has no reason`,
				},
			},
		},
		"dependencies": {
			{
				name: "each at its place",
				files: map[string]string{
					"actors/system.go":           imports("actors", "github.com/asynkron/protoactor-go/actor", "log/slog"),
					"actors/system_test.go":      imports("actors", "github.com/asynkron/protoactor-go/actor"),
					"internal/link/stream.go":    imports("link", "google.golang.org/grpc/encoding"),
					"internal/wire/codec.go":     imports("wire", "google.golang.org/grpc/mem"),
					"supervisor/node.go":         imports("supervisor", "google.golang.org/grpc", "github.com/rs/zerolog"),
					"codecs/msgpack/msgpack.go":  imports("msgpack", "github.com/vmihailenco/msgpack/v5"),
					"examples/imageload/main.go": imports("main", "github.com/rs/zerolog"),
					"stages/x.go":                imports("stages", ours+"codecs", "iter"),
				},
			},
			{
				name: "none elsewhere, tests included",
				files: map[string]string{
					"supervisor/run.go":        imports("supervisor", "github.com/asynkron/protoactor-go/actor"),
					"supervisor/run_test.go":   imports("supervisor_test", "github.com/asynkron/protoactor-go/actor"),
					"actors/log.go":            imports("actors", "github.com/rs/zerolog"),
					"actors/net.go":            imports("actors", "google.golang.org/grpc"),
					"codecs/codec.go":          imports("codecs", "github.com/vmihailenco/msgpack/v5"),
					"internal/restart/log.go":  imports("restart", "github.com/rs/zerolog"),
					"internal/plan/msgpack.go": imports("plan", "github.com/vmihailenco/msgpack/v5/msgpcode"),
				},
				want: []string{
					"actors/log.go:2: github.com/rs/zerolog is imported by actors; only supervisor, examples may",
					"actors/net.go:2: google.golang.org/grpc is imported by actors",
					"codecs/codec.go:2: github.com/vmihailenco/msgpack/v5 is imported by codecs",
					"internal/plan/msgpack.go:2: github.com/vmihailenco/msgpack/v5/msgpcode is imported by internal/plan",
					"internal/restart/log.go:2: github.com/rs/zerolog is imported by internal/restart",
					"supervisor/run.go:2: github.com/asynkron/protoactor-go/actor is imported by supervisor; only actors may",
					"supervisor/run_test.go:2: github.com/asynkron/protoactor-go/actor is imported by supervisor",
				},
			},
			{
				name:  "a new dependency has no place yet",
				files: map[string]string{"actors/x.go": imports("actors", "github.com/pkg/errors")},
				want:  []string{"actors/x.go:2: github.com/pkg/errors is a dependency without a place"},
			},
		},
	}
}
