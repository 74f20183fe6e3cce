package supervisor_test

import (
	"os"
	"testing"

	"github.com/rs/zerolog"
	"github.com/weirflow/weir/supervisor"
)

func TestZZ(t *testing.T) {
	log := supervisor.LogEvents(zerolog.New(os.Stderr))
	addr := serveNode(t, supervisor.NodeConfig{Open: true, OnEvent: log}, doubles)
	got, err := collectAt(t, supervisor.New(supervisor.Config{OnEvent: log}), doubles.With(span{5_000, 4}), supervisor.Regions{{From: "double", To: "halve", On: supervisor.Remote{Addr: addr}}})
	t.Log(len(got), err)
}
