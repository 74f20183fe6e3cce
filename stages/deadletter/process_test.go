package deadletter_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirflow/weir/stages/deadletter"
)

// holdVariable names, in the environment of a child process, the file that it is to hold.
const holdVariable = "WEIR_TEST_HOLD_LETTERS"

// TestMain makes a child process of this program hold a file instead of testing anything.
func TestMain(m *testing.M) {
	path := os.Getenv(holdVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	w, err := deadletter.File(path).OpenLetters(context.Background())
	if err == nil {
		err = w.Write(context.Background(), letter(0))
	}
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("holds it\n")
	io.Copy(io.Discard, os.Stdin) // until the parent is gone
}

func TestAFileOfAnotherProcessIsRefusedUntilThatIsKilled(t *testing.T) {
	formats(t, func(t *testing.T, name string) {
		path := filepath.Join(t.TempDir(), name)
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), holdVariable+"="+path)
		in, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Skipf("no child process: %v", err)
		}
		said, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || said != "holds it\n" {
			t.Errorf("the child says %q, %v", said, err)
		}
		_, refused := deadletter.File(path).OpenLetters(t.Context())
		check(t, path, letter(0)) // which needs no lock
		if err := child.Process.Kill(); err != nil {
			t.Error(err)
		}
		child.Wait() // it was killed
		if refused == nil || !strings.Contains(refused.Error(), path+" is in use") {
			t.Errorf("a second process may open it: %v", refused)
		}
		w := open(t, path)
		write(t, w, letter(1))
		check(t, path, letter(0), letter(1))
	})
}
