package house_test

import "github.com/weirflow/weir/internal/house"

// lists are the exceptions of this repository: the place, and why it is one. An entry that nothing needs fails the test.
func lists() house.Lists {
	return house.Lists{
		// "file import": stages sees nothing outside the process's memory, except here.
		Outside: map[string]string{
			"stages/files.go os":            "FromFiles lists a directory, when it is opened",
			"stages/files.go io/fs":         "FromFiles lists a directory, when it is opened",
			"stages/files.go path/filepath": "FromFiles lists a directory, when it is opened",

			"stages/deadletter/file.go os":            "a file of dead letters is opened in the deploying process, before the run starts",
			"stages/deadletter/file.go io/fs":         "a file of dead letters is opened in the deploying process, before the run starts",
			"stages/deadletter/file.go path/filepath": "the working directory may change while a file of dead letters is open",
			"stages/deadletter/lock_unix.go os":       "a file of dead letters has one writer",
			"stages/deadletter/lock_unix.go io/fs":    "a file of dead letters has one writer",
			"stages/deadletter/lock_unix.go syscall":  "a file of dead letters has one writer",
			"stages/deadletter/lock_windows.go os":    "a file of dead letters has one writer",
			"stages/deadletter/lock_other.go os":      "a file of dead letters has one writer, where there are locks",
			"stages/deadletter/read.go os":            "Read opens a file for the loop that ranges over it, in no stage",
			"stages/errortable.go os":                 "errors are told by their types, and nothing is opened",
			"stages/errortable.go io/fs":              "errors are told by their types, and nothing is opened",
			"stages/errortable.go net":                "errors are told by their types, and nothing is opened",
			"stages/errortable.go syscall":            "errors are told by their types, and nothing is opened",
		},
		// "file variable": tables that the compiler builds and nothing writes.
		Globals: map[string]string{
			"stages/policy.go ErrFatal":      "a sentinel, under the name that users know",
			"stages/policy.go ErrRetryable":  "a sentinel, under the name that users know",
			"internal/plan/chunk.go classes": "the sizes of a pool's chunks, read only: Go has no constant arrays",
		},
		// "file": who may start a goroutine.
		Goroutines: map[string]string{
			"codecs/codectest/rules.go":         "the suite uses a codec from several goroutines at once, and waits for them",
			"actors/mailbox.go":                 "an actor is one goroutine, and its mailbox is what starts and parks it",
			"internal/plan/examine.go":          "an error's methods are user code, which may end the goroutine that asks them",
			"internal/plan/panicked.go":         "a panic's value is user code, which may end the goroutine that asks it",
			"actors/worker.go":                  "a user's Close may end its goroutine, which must not be the actor's",
			"stages/stagetest/origin.go":        "an origin under test may never return, and must be told from one that does",
			"stages/stagetest/perform.go":       "a kind under test may never return, and must be told from one that does",
			"stages/stagetest/conform.go":       "two workers of one stage are at work at once, so that the race detector sees what they share",
			"stages/stagetest/thread.go":        "a function under test may end its goroutine, which must not be the test's",
			"supervisor/supervisortest/node.go": "the node that a test deploys to serves until the test ends",
			"internal/link/send.go":             "gRPC's streams block, and have one writer each",
			"internal/link/conn.go":             "a session of a coordinator is watched by its connection",
			"internal/link/serve.go":            "gRPC's server blocks, and a handler may block in a stream that must end",
			"supervisor/host.go":                "what comes out of a region is sent while its inputs are received",
			"supervisor/nodes.go":               "a session with a process is waited for beside the run's actors",
			"supervisor/task.go":                "a background task runs beside the run that it belongs to",
			"supervisor/herald.go":              "the herald tells events to a listener that may be slow",
			"actors/hooks.go":                   "hooks around stages run before the first actor has something to do and after the last one has ended",
			"actors/usercode.go":                "hooks around stages and dead-letter sinks are user code, which may end its goroutine",
			"internal/link/child/process.go":    "a child's death is waited for, and the thread that started it is kept until then",
			"examples/isolation/measure.go":     "somebody must take a loader's items while a loop that has nothing to do with them is measured",
			"internal/link/child/output.go":     "a child's output is read while nothing waits for it, and handed to a listener that may be slow",
			"internal/link/child/enter_unix.go": "the end of the parent ends the child, whatever it is doing",
		},
		// "file function": helpers that are called from inside bubbles only; "file": programs that measure real time.
		Sleeps: map[string]string{
			"supervisor/epoch_warm_test.go takes":                              "a function of a stage in a bubble",
			"supervisor/graph_held_test.go call":                               "a function of a stage in a bubble",
			"supervisor/attack_test.go Flush":                                  "a worker of a test in a bubble",
			"supervisor/graph_attack_test.go lingering":                        "a function of a stage in a bubble",
			"supervisor/graph_attack_race_test.go byTwos":                      "a function of a stage in a bubble",
			"supervisor/graph_build_test.go rest":                              "a function of a stage in a bubble",
			"supervisor/schedule_build_test.go letGo":                          "called in a bubble",
			"supervisor/schedule_run_test.go take":                             "the consumer of a run in a bubble",
			"supervisor/graph_stop_test.go TestEveryWayOutOfAGraphEndsAllOfIt": "called in a bubble",
			"supervisor/aggregate_wait_test.go checkWaits":                     "runs in a bubble, one per seed",
			"supervisor/headspace/headspace_test.go loader":                    "sleeps only in bubbles, else it has no pauses",
			"supervisor/headspace/headspace_test.go analyze":                   "called in a bubble",
		},
		// "file name": what a hot path file uses off the item's way.
		HotPath: map[string]string{
			"stages/serial.go fmt.Errorf": "a worker that breaks its contract fails the run, once",
			"stages/keyed.go fmt.Errorf":  "an aggregator that cannot be opened, or breaks its contract",
		},
		// "directory import": foreign types that users are meant to meet.
		Surface: map[string]string{
			"supervisor github.com/rs/zerolog": "LogEvents and Config.Logger take the user's own logger",
		},
	}
}
