package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

func TestMeanAndDeviationAreThoseOfANode(t *testing.T) {
	dir, token := t.TempDir(), filepath.Join(t.TempDir(), "token")
	if _, err := supervisor.NewJoinToken(token); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	word := fmt.Sprintf("tcp://%s?join=%s", l.Addr(), token)
	l.Close()
	at, err := supervisor.ParsePlacement(word)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, at) }()
	writeGoodImages(t, dir)
	ref := sequential(t, dir)
	for _, at := range []string{word, "load=" + word, "load=2*" + word} {
		ref.compare(t, executeJSON(t, "-dir", dir, "-placement", at, "-epochs", "2"), 2)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeServedIsRefused(t *testing.T) {
	for _, at := range []string{"subprocess", "inprocess", "tcp://127.0.0.1:7433", "laod=subprocess"} {
		execute(t, "-serve", at).failsWith(t, 1, "want tcp://HOST:PORT?join=FILE")
	}
	execute(t, "-serve", "tcp:/localhost").failsWith(t, 2, "placement")
}
