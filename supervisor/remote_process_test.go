package supervisor_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// Nodes that are processes of their own, over TLS, which are killed.

// beNode makes a process of these tests a node, if it is told to be one: "ADDRESS TOKEN".
func beNode(defs ...stages.Blueprint) {
	addr, path, told := strings.Cut(os.Getenv("WEIR_TEST_NODE"), " ")
	if !told {
		return
	}
	token, err := supervisor.ReadJoinToken(path)
	var l net.Listener
	if err == nil {
		l, err = net.Listen("tcp", addr)
	}
	if err == nil {
		fmt.Println(l.Addr())
		err = supervisor.ServeNode(context.Background(), l, supervisor.NodeConfig{Join: token}, defs...)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// startNode runs a node as a process until the test ends, or it is killed.
func startNode(t *testing.T, addr, token string) (at string, kill func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "WEIR_TEST_NODE="+addr+" "+token)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Cleanup(kill)
	at, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the node says %q, %v", at, err)
	}
	return strings.TrimSpace(at), kill
}

func TestAStreamOnANodeThatIsKilledComesOnce(t *testing.T) {
	const n = 20_000
	path := filepath.Join(t.TempDir(), "token")
	token, err := supervisor.NewJoinToken(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]func(supervisor.Remote) supervisor.Placement{
		"all of it":     func(r supervisor.Remote) supervisor.Placement { return r },
		"fed from here": func(r supervisor.Remote) supervisor.Placement { return supervisor.Regions{{From: "batch", On: r}} },
	} {
		t.Run(name, func(t *testing.T) {
			addr, kill := startNode(t, "127.0.0.1:0", path)
			sup := supervisor.New(supervisor.Config{MaxDeaths: 1000, Restart: stages.Restart{Max: 1000, First: time.Millisecond, Pause: time.Millisecond}})
			run, err := supervisor.Deploy(t.Context(), sup, batched.With(span{n, 4}), at(supervisor.Remote{Addr: "tcp://" + addr, Join: token}))
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			kills := 0
			for b, err := range run.Items(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, b...); len(got) > (kills+1)*n/20 {
					kill()
					_, kill = startNode(t, addr, path)
					kills++
				}
			}
			if err := run.Stop(); err != nil {
				t.Error(err)
			}
			s := run.Stats()
			if checkEnd(t, s, nil); s.Yielded != n || s.Delivered != n/2 || s.Filtered != n/2 || kills < 5 {
				t.Errorf("%d kills: %s", kills, tellStages(s))
			}
			if len(got) != n/2 {
				t.Errorf("%d items, want %d", len(got), n/2)
			}
			for i, v := range got {
				if v != 2*i+1 {
					t.Fatalf("item %d is %d", i, v)
				}
			}
		})
	}
}
