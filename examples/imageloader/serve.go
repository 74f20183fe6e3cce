package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/weirflow/weir/supervisor"
)

// serve has this program be a node until ctx ends. at is what other programs give as their -placement.
func serve(ctx context.Context, at supervisor.Placement) error {
	node, ok := at.(supervisor.Remote)
	if !ok || node.Join == (supervisor.JoinToken{}) {
		return fmt.Errorf("-serve %v: want tcp://HOST:PORT?join=FILE", at)
	}
	l, err := net.Listen("tcp", strings.TrimPrefix(node.Addr, "tcp://"))
	if err != nil {
		return err
	}
	return supervisor.ServeNode(ctx, l, supervisor.NodeConfig{Join: node.Join}, loader)
}
