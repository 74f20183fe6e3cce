package arena

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weirflow/weir/internal/wire"
)

const (
	roleVariable = "WEIR_ARENA_TEST_ROLE"
	shared       = 4 << 20 // bytes of the arena that is inherited
	inherited    = 3       // the descriptor of it
)

// roles is what the test's own binary does when it is started as another process.
func roles() map[string]func() error {
	return map[string]func() error{
		"fill": fill, "hold": hold, "no descriptors": noDescriptors, "no large files": noLargeFiles, "full tmpfs": fullTmpfs,
	}
}

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleVariable); ok {
		if err := roles()[role](); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fill writes eight blocks, says where, and waits for its end.
func fill() error {
	w, err := OpenWriter(os.NewFile(inherited, "arena"), shared)
	if err != nil {
		return err
	}
	for i := range 8 {
		b, ok := w.Put(pattern(100_000, byte(i)))
		if !ok {
			return errors.New("no room")
		}
		if err := json.NewEncoder(os.Stdout).Encode(b); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// hold looks at the block that it is told of, and waits for its end.
func hold() error {
	r, err := OpenReader(os.NewFile(inherited, "arena"), shared)
	if err != nil {
		return err
	}
	var b wire.Block
	if err := json.NewDecoder(os.Stdin).Decode(&b); err != nil {
		return err
	}
	got, err := r.View(b)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, pattern(len(got), got[0])) {
		return errors.New("not what was written")
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func noDescriptors() error {
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{}); err != nil {
		return err
	}
	return refused(unix.EMFILE, func() error { _, err := NewWriter(shared); return err })
}

func noLargeFiles() error {
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		return err
	}
	return refused(unix.EFBIG, func() error { _, err := NewReader(shared); return err })
}

// fullTmpfs wants the pages of 4 MiB in a file system of 1 MiB.
func fullTmpfs() error {
	dir := os.Getenv("TMPDIR")
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "arena"))
	if err != nil {
		return err
	}
	if err := f.Truncate(shared); err != nil {
		return err
	}
	m := &mapping{write: true, held: 1}
	if m.mem, err = mapFile(f, shared, true); err != nil {
		return err
	}
	if err := m.grow(64 << 10); err != nil && !errors.Is(err, ErrUnsupported) {
		return err // there is room for this
	}
	if err := m.grow(2 << 20); err == nil {
		return errors.New("there were pages for more than there is room for")
	}
	m.drop()
	return refused(unix.ENOSPC, func() error { return reserve(f, shared) })
}

func refused(want error, do func() error) error {
	if err := do(); !errors.Is(err, want) {
		return fmt.Errorf("got %v, want %v", err, want)
	}
	return nil
}

// process starts the test's own binary with f as its arena.
func process(t *testing.T, role string, f *os.File) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"="+role)
	c.ExtraFiles = []*os.File{f}
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, in, bufio.NewReader(out)
}

// kill ends a process as a crash does.
func kill(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var died *exec.ExitError
	if err := c.Wait(); !errors.As(err, &died) || died.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("ended otherwise: %v", err)
	}
}

func TestBlocksOutliveTheirWriter(t *testing.T) {
	r, err := NewReader(shared)
	if err != nil {
		t.Fatal(err)
	}
	c, _, out := process(t, "fill", r.File())
	closeFile(r.File())
	var blocks []wire.Block
	var got [][]byte
	for lines := json.NewDecoder(out); len(blocks) < 8; {
		var b wire.Block
		if err := lines.Decode(&b); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks[:4] { // of these the program has heard before its child died
		v, err := r.View(b)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	kill(t, c)
	for _, b := range blocks[4:] {
		v, err := r.View(b)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	r.Close()
	for i, b := range blocks {
		if !bytes.Equal(got[i], pattern(100_000, byte(i))) {
			t.Errorf("block %d is not what was written", i)
		}
		if mappings, _ := leftovers(t); mappings != 1 {
			t.Errorf("%d mappings while blocks are held", mappings)
		}
		if err := r.Release(b); err != nil {
			t.Error(err)
		}
	}
	checkNothingIsLeft(t)
}

func TestAReaderThatDiesWithABlockLeavesNothing(t *testing.T) {
	w, err := NewWriter(shared)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c, in, out := process(t, "hold", w.File())
	b, _ := w.Put(pattern(1<<20, 5))
	if err := json.NewEncoder(in).Encode(b); err != nil {
		t.Fatal(err)
	}
	if line, err := out.ReadString('\n'); line != "held\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	kill(t, c)
	if u := w.Usage(); u.Blocks != 1 {
		t.Errorf("%+v: nobody has released anything", u)
	}
	w.Close()
	checkNothingIsLeft(t)
}

func TestAnArenaThatCannotBeHadIsAnError(t *testing.T) {
	for _, role := range []string{"no descriptors", "no large files"} {
		t.Run(role, func(t *testing.T) { checkRole(t, role, nil) })
	}
	t.Run("full tmpfs", func(t *testing.T) {
		root := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		groups := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		checkRole(t, "full tmpfs", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, UidMappings: root, GidMappings: groups})
	})
}

func checkRole(t *testing.T, role string, as *syscall.SysProcAttr) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"="+role, "TMPDIR="+t.TempDir())
	c.SysProcAttr = as
	out, err := c.CombinedOutput()
	if as != nil && errors.Is(err, syscall.EPERM) {
		t.Skip("this system gives nobody a namespace of their own:", err)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
