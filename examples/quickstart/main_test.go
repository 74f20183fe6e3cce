package main

import (
	"os"
	"strings"
	"testing"
)

func Example() {
	if err := os.Chdir("testdata"); err != nil {
		panic(err)
	}
	defer os.Chdir("..")
	main()
	// Output: 2 files of Go have 45 bytes
}

// The README shows this very program.
func TestTheReadmeShowsThisProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), "package main\n")
	_, shown, _ := strings.Cut(string(readme), "```go\npackage main\n")
	shown, _, _ = strings.Cut(shown, "```")
	if shown != code {
		t.Errorf("the README's program differs from main.go:\n%s", shown)
	}
}
