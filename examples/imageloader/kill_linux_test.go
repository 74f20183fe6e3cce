package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// children returns the processes that this one has started and that have not ended.
func children(t *testing.T) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// proc(5): pid (name) state ppid; the name may have any signs.
		head, rest, _ := bytes.Cut(text, []byte(" ("))
		fields := strings.Fields(string(rest[bytes.LastIndexByte(rest, ')')+1:]))
		pid, err := strconv.Atoi(string(head))
		if err == nil && len(fields) > 1 && fields[0] != "Z" && fields[1] == itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestAChildThatIsKilledChangesNothingButTheSummary(t *testing.T) {
	dir := t.TempDir()
	writeGoodImages(t, dir)
	const epochs = 5
	ref := sequential(t, dir)
	for _, at := range []string{"subprocess", "load=subprocess", "load=2*subprocess"} {
		t.Run(at, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := make(chan int)
			go func() {
				args := []string{"-dir", dir, "-placement", at, "-batch", "3", "-epochs", itoa(epochs), "-json"}
				status <- command(t.Context(), context.Background(), sup, args, &stdout, &stderr)
			}()
			for killed := false; !killed; {
				runs := sup.Runs()
				if len(runs) == 0 || runs[0].Stats().Outputs < 3 {
					select {
					case s := <-status:
						t.Fatalf("it ended, with status %d, before a child could be killed: %s", s, &stderr)
					case <-time.After(time.Millisecond):
					}
					continue
				}
				pids := children(t)
				if len(pids) == 0 {
					t.Fatal("there is no child")
				}
				if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				killed = true
			}
			r := result{<-status, stdout.String(), stderr.String()}
			if r.status != 0 {
				t.Fatalf("status %d: %s", r.status, r.stderr)
			}
			ref.compare(t, r.summary(t), epochs)
			if !strings.Contains(r.stderr, "imageloader: restarted: ") || !strings.Contains(r.stderr, ": signal: killed\n") {
				t.Errorf("the restart is not told: %q", r.stderr)
			}
		})
	}
}
