package supervisor_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childrenOfProcess are the processes of which another one is the parent.
func childrenOfProcess(pid int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// parentThat starts this program as a parent, in directories of its own. What it prints comes line by line.
func parentThat(t *testing.T, does string) (cmd *exec.Cmd, lines *bufio.Scanner, dirs []string) {
	t.Helper()
	dirs = []string{t.TempDir(), t.TempDir()}
	cmd = exec.Command("/proc/self/exe")
	cmd.Dir = dirs[0]
	cmd.Env = append(os.Environ(), "TMPDIR="+dirs[1], "WEIR_TEST_PARENT="+does)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out), dirs
}

// The deploying program is killed while its children run, are blocked because nobody takes what they have made, are stopped, or are
// being started or ended: a second later none is there, and no file is left.
func TestF15NoChildOutlivesADeployingProgram(t *testing.T) {
	// This process becomes the parent of all orphans below it, so that none is overlooked.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	shm := func() int {
		names, _ := filepath.Glob("/dev/shm/*weir*")
		return len(names)
	}
	before := shm()
	dice := rand.New(rand.NewPCG(uint64(max(*faultSeed, 1)), 15))
	for _, c := range []struct {
		does    string
		stopped bool
		times   int
	}{{"runs", false, 2}, {"runs", true, 2}, {"blocks", false, 1}, {"blocks", true, 1}, {"begins", false, 12}} {
		t.Run(fmt.Sprintf("it %s, stopped %v", c.does, c.stopped), func(t *testing.T) {
			counts := map[int]int{} // of children that were there
			for range c.times {
				cmd, lines, dirs := parentThat(t, c.does)
				if !lines.Scan() || lines.Text() != "there" && lines.Text() != "begins" {
					t.Fatal(lines.Text())
				}
				<-time.After(time.Duration(dice.IntN(30_000)) * time.Microsecond)
				tree := childrenOfProcess(cmd.Process.Pid)
				counts[len(tree)]++
				if c.does != "begins" && len(tree) != 4 {
					t.Errorf("%d children", len(tree))
				}
				if c.stopped {
					for _, pid := range tree {
						_ = syscall.Kill(pid, syscall.SIGSTOP)
					}
				}
				begun := time.Now()
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				for left := childrenOf(t); len(left) > 0; left = childrenOf(t) {
					for _, pid := range left {
						var status syscall.WaitStatus
						_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
					}
					if time.Since(begun) > time.Second {
						t.Fatalf("there are still %v", left)
					}
					<-time.After(time.Millisecond)
				}
				for _, dir := range dirs {
					if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
						t.Errorf("left over: %v, %v", files, err)
					}
				}
			}
			t.Log("children:", counts)
			if len(counts) < 2 && c.does == "begins" {
				t.Error("the children were at the same point each time")
			}
		})
	}
	if now := shm(); now > before {
		t.Errorf("%d files in shared memory, %d before", now, before)
	}
}
