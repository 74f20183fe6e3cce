package house_test

import "github.com/weirflow/weir/internal/house"

const proto = "github.com/asynkron/protoactor-go/actor"

// foreign is a file of actors that imports protoactor, with the declaration on line 3.
func foreign(decl string) map[string]string {
	return map[string]string{"actors/x.go": "package actors\nimport \"" + proto + "\"\n" + decl + "\n"}
}

func surfaceTrees() map[string][]tree {
	trees := []tree{
		{
			name: "hidden behind types of ours",
			files: foreign(`type System struct { root *actor.RootContext; PIDs int }
type stage struct{ Self *actor.PID }
func (s *stage) Receive(ctx actor.Context) {}
func (s *System) tell(pid *actor.PID) {}
func Start(pid int) error { var p *actor.PID; _ = p; return nil }
type pid = actor.PID
var root *actor.RootContext
func Log(pid string) {}`),
		},
		{
			name:  "an alias behind an alias behind a field",
			files: foreign("type Ref struct{ Of inner }\ntype inner = deeper\ntype deeper struct{ Self *actor.PID; Next *deeper }"),
			want:  []string{"actors/x.go:5: exported Ref mentions " + proto},
		},
		{
			name: "under another name",
			files: map[string]string{
				"actors/x.go": "package actors\nimport pa \"" + proto + "\"\nfunc Root() *pa.RootContext { return nil }\n",
			},
			want: []string{"actors/x.go:3: exported Root mentions " + proto},
		},
		{
			name: "a foreign type that users are meant to meet is listed",
			files: map[string]string{
				"supervisor/log.go": "package supervisor\nimport \"github.com/rs/zerolog\"\nfunc LogEvents(l zerolog.Logger) {}\n",
				"codecs/log.go":     "package codecs\nimport \"github.com/rs/zerolog\"\nfunc LogEvents(l zerolog.Logger) {}\n",
			},
			lists: house.Lists{Surface: map[string]string{"supervisor github.com/rs/zerolog": "the user's own logger", "stages x": "gone"}},
			want: []string{
				"codecs/log.go:3: exported LogEvents mentions github.com/rs/zerolog",
				house.ListsFile + `: "stages x" is an exception`,
			},
		},
		{
			name: "internal packages promise nothing",
			files: map[string]string{
				"internal/link/s.go": "package link\nimport \"google.golang.org/grpc\"\nfunc Serve(s *grpc.Server) {}\n",
				"actors/x_test.go":   "package actors\nimport \"" + proto + "\"\nfunc Probe(p *actor.PID) {}\n",
			},
		},
	}
	for name, decl := range map[string]string{
		"function parameter": "func Send(to *actor.PID) {}",
		"function result":    "func Root() (ctx *actor.RootContext, err error) { return nil, nil }",
		"function literal":   "var Open = func(ctx actor.Context) {}",
		"method":             "type System struct{}; func (s *System) PID() *actor.PID { return nil }",
		"generic method":     "type Box[T any] struct{}; func (b Box[T]) PID() *actor.PID { return nil }",
		"type":               "type PID actor.PID",
		"alias":              "type PID = actor.PID",
		"field":              "type System struct{ Root *actor.RootContext }",
		"embedded field":     "type System struct{ *actor.ActorSystem }",
		"channel of slices":  "type System struct{ Seen chan []actor.PID }",
		"interface method":   "type Stage interface{ Receive(ctx actor.Context) }",
		"embedded interface": "type Stage interface{ actor.Actor }",
		"constraint":         "func Each[A actor.Actor](a A) {}",
		"type constraint":    "type Group[A actor.Actor] struct{}",
		"variable":           "var Dead *actor.PID",
		"value":              "var Dead = actor.NewPID(\"\", \"\")",
		"option":             "type Option func(*actor.Props)",
		"hidden alias":       "type pid = actor.PID; func Send(to *pid) {}",
	} {
		trees = append(trees, tree{name: name, files: foreign(decl), want: []string{"actors/x.go:3: exported "}})
	}
	return map[string][]tree{"exported signatures": trees}
}
