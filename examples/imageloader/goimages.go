package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var errNoGo = errors.New("no Go installation with images found: name a folder with -dir, or the installation with GOROOT")

// goImages is the folder of the Go installation that has the images its own tests are run with. The program that
// runs does not know where that is: runtime.GOROOT is empty in a binary built with -trimpath.
func goImages(ctx context.Context) (string, error) {
	for _, root := range []func(context.Context) string{goRootOfEnv, goRootOfCommand} {
		dir := filepath.Join(root(ctx), "src", "image")
		if info, err := os.Stat(dir); filepath.IsAbs(dir) && err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", errNoGo
}

func goRootOfEnv(context.Context) string { return os.Getenv("GOROOT") }

func goRootOfCommand(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT")
	cmd.Dir = os.TempDir() // the go.mod of the current folder may ask for another version, to be downloaded
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
