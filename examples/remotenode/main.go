// Command remotenode is a node for the pipeline of examples/tokenize: programs deploy it here, on another machine.
//
//	go run ./examples/remotenode -make-token join.token
//	go run ./examples/remotenode -listen 10.0.0.7:7433 -join join.token
//
// and, with a copy of join.token, where the training is:
//
//	supervisor.Remote{Addr: "tcp://10.0.0.7:7433", Join: token}
//
// Certificates do as well (-cert, -key, -ca), and -make-certs makes some for a first try. -open asks nobody who he is, on a
// loopback address only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rs/zerolog"

	"github.com/weirflow/weir/examples/tokenize/tokens"
	"github.com/weirflow/weir/supervisor"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "remotenode:", err)
		os.Exit(1)
	}
}

// A call is what the command was called with.
type call struct {
	listen, join, cert, key, ca string
	open                        bool
	makeToken, makeCerts, hosts string
}

func command(ctx context.Context, args []string, out, log io.Writer) error {
	var c call
	flags := flag.NewFlagSet("remotenode", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.StringVar(&c.listen, "listen", "127.0.0.1:7433", "`address` to serve at")
	flags.StringVar(&c.join, "join", "", "`file` of a join token, with FILE.node beside it")
	flags.StringVar(&c.cert, "cert", "", "`file` of the node's certificate")
	flags.StringVar(&c.key, "key", "", "`file` of the certificate's key")
	flags.StringVar(&c.ca, "ca", "", "`file` of the authorities of programs that are let in")
	flags.BoolVar(&c.open, "open", false, "let in everybody on this machine")
	flags.StringVar(&c.makeToken, "make-token", "", "make a join token in `file` and FILE.node, and end")
	flags.StringVar(&c.makeCerts, "make-certs", "", "make certificates for a first try in `directory`, and end")
	flags.StringVar(&c.hosts, "hosts", "", "`names` and addresses that the certificate is for, with commas between; empty: this machine's own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("what is %q?", flags.Arg(0))
	case c.makeToken != "":
		_, err := supervisor.NewJoinToken(c.makeToken)
		return err
	case c.makeCerts != "":
		return supervisor.NewTestCertificates(c.makeCerts, strings.FieldsFunc(c.hosts, func(r rune) bool { return r == ',' })...)
	}
	return serve(ctx, c, out, log)
}

func serve(ctx context.Context, c call, out, log io.Writer) error {
	cfg := supervisor.NodeConfig{Open: c.open, OnEvent: supervisor.LogEvents(zerolog.New(log).With().Timestamp().Logger())}
	var err error
	switch {
	case c.join != "" && c.cert != "":
		return errors.New("-join and -cert: want one of them")
	case c.join != "":
		cfg.Join, err = supervisor.ReadJoinToken(c.join)
	case c.cert != "":
		cfg.TLS, err = supervisor.ReadNodeCertificates(c.cert, c.key, c.ca)
	case !c.open:
		return errors.New("who may deploy here? Want -join, -cert or -open")
	}
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", c.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening at %s\n", l.Addr())
	return supervisor.ServeNode(ctx, l, cfg, tokens.Pipeline)
}
