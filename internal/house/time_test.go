package house_test

import "github.com/weirflow/weir/internal/house"

func timeTrees() map[string][]tree {
	return map[string][]tree{
		"sleep": {
			{
				name: "in a bubble",
				files: map[string]string{
					"actors/a_test.go": `package actors
import ("testing"; "testing/synctest"; clock "time")
func TestA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		func() { clock.Sleep(1) }()
	})
}
`,
					"examples/etl/main.go":    "package main\nimport \"time\"\nfunc work() { time.Sleep(1) }\n",
					"benchmarks/go.mod":       "module weir.test/weir/benchmarks\n",
					"benchmarks/late_test.go": "package benchmarks\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
				},
			},
			{
				name: "where time is real",
				files: map[string]string{
					"actors/a_test.go": `package actors
import ("testing"; "testing/synctest"; clock "time")
func TestA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { clock.Sleep(1) })
	clock.Sleep(1)
	pause := clock.Sleep
	pause(1)
}
var wait = func() {
	clock.Sleep(1)
}
`,
					"actors/retry.go":           "package actors\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
					"examples/etl/main_test.go": "package main\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
					"stages/stagetest/probe.go": "package stagetest\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
				},
				want: []string{
					"actors/a_test.go:5: time.Sleep outside a synctest bubble; run the test inside",
					"actors/a_test.go:6: time.Sleep",
					"actors/a_test.go:10: time.Sleep",
					"actors/retry.go:3: time.Sleep outside a synctest bubble; wait for the event itself, or for a timer",
					"examples/etl/main_test.go:3: time.Sleep",
					"stages/stagetest/probe.go:3: time.Sleep",
				},
			},
			{
				name: "a listed helper, a listed program",
				files: map[string]string{
					"actors/a_test.go": "package actors\nimport \"time\"\nfunc busy() { time.Sleep(1) }\nfunc idle() { time.Sleep(1) }\n",
					"actors/late.go":   "package actors\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
				},
				lists: house.Lists{Sleeps: map[string]string{"actors/a_test.go busy": "only in bubbles", "actors/late.go": "measures", "actors/b_test.go f": "gone"}},
				want: []string{
					"actors/a_test.go:4: time.Sleep",
					house.ListsFile + `: "actors/b_test.go f" is an exception`,
				},
			},
		},
		"hot path": {
			{
				name: "no marker, no rule",
				files: map[string]string{
					"actors/cold.go":   "package actors\nimport (\"fmt\"; \"time\")\nfunc f() { fmt.Println(time.Now()) }\n",
					"actors/h_test.go": "// HOT PATH\n\npackage actors\nimport \"fmt\"\nfunc f() { fmt.Println() }\n",
				},
			},
			{
				name: "marked, and quick",
				files: map[string]string{"actors/hot.go": `package actors
import ("fmt"; "log/slog"; "time")
var errOne = fmt.Errorf("one: %w", errTwo)
// HOT PATH: runs per chunk.
func (k *kernel) run(log *slog.Logger, d time.Duration) { const s = "fmt.Println"; k.now() }
`},
			},
			{
				name: "marked, and slow",
				files: map[string]string{"stages/map.go": `package stages
import ("fmt"; "log"; "log/slog"; "time")
func f() { // HOT PATH
	start := time.Now()
	_ = time.Since(start)
	clock := time.Now
	_ = fmt.Errorf("x: %v", clock)
	log.Print("x")
	slog.Info("x")
	w.logger.Info("x")
	w.log.Debug("x")
	w.errs.Error("x")
}
`},
				want: []string{
					"stages/map.go:4: time.Now in a file marked HOT PATH reads the clock",
					"stages/map.go:5: time.Since in a file marked HOT PATH reads the clock",
					"stages/map.go:6: time.Now in",
					"stages/map.go:7: fmt.Errorf in a file marked HOT PATH formats",
					"stages/map.go:8: log.Print in a file marked HOT PATH logs",
					"stages/map.go:9: log/slog.Info in",
					"stages/map.go:10: logger.Info in",
					"stages/map.go:11: log.Debug in",
				},
			},
			{
				name:  "what runs only on a failure is listed",
				files: map[string]string{"stages/map.go": "package stages\nimport \"fmt\"\n// HOT PATH\nfunc f() { fmt.Errorf(\"\"); fmt.Sprint() }\n"},
				lists: house.Lists{HotPath: map[string]string{"stages/map.go fmt.Errorf": "the failing item only", "stages/map.go time.Now": "gone"}},
				want: []string{
					"stages/map.go:4: fmt.Sprint in",
					house.ListsFile + `: "stages/map.go time.Now" is an exception`,
				},
			},
		},
	}
}
