package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMistakeInTheCommandLineIsOneLine(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no workers", []string{"-workers", "0"}, "-workers 0: want 1 to 1024"},
		{"negative workers", []string{"-workers", "-3"}, "-workers -3: want 1 to 1024"},
		{"a million workers", []string{"-workers", "1000000"}, "-workers 1000000: want 1 to 1024"},
		{"workers that are no number", []string{"-workers", "many"}, `invalid value "many" for flag -workers: parse error`},
		{"no batch", []string{"-batch", "0"}, "-batch 0: want at least 1"},
		{"no epoch", []string{"-epochs", "0"}, "-epochs 0: want at least 1"},
		{"a negative budget", []string{"-skip-errors", "-1"}, "-skip-errors -1: want at least 0"},
		{"an unknown placement", []string{"-placement", "moon"}, `placement "moon": not known`},
		{"an unknown flag", []string{"-speed", "9"}, "flag provided but not defined: -speed"},
		{"a folder without its flag", []string{"photos"}, `unexpected argument "photos": the folder is given with -dir`},
		{"an empty folder name", []string{"-dir="}, "-dir is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			execute(t, append([]string{"-dir", dir}, tt.args...)...).failsWith(t, 2, tt.want)
		})
	}
}

func TestSixteenBrokenImagesAreToleratedOnlyInTheBuiltInSet(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want int
	}{
		{"built-in", nil, 16},
		{"built-in, three epochs", []string{"-epochs", "3"}, 48},
		{"built-in, given", []string{"-skip-errors", "2", "-epochs", "3"}, 2},
		{"built-in, given as none", []string{"-skip-errors", "0"}, 0},
		{"a folder", []string{"-dir", "photos"}, 0},
		{"a folder, given", []string{"-dir", "photos", "-skip-errors", "5"}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts, err := parse(tt.args)
			if err != nil || opts.cfg.SkipErrors != tt.want {
				t.Errorf("%d, %v, want %d", opts.cfg.SkipErrors, err, tt.want)
			}
		})
	}
}

func TestTheGoInstallationIsFoundByEnvironmentThenByCommand(t *testing.T) {
	root := installation(t)
	t.Run("the environment comes first", func(t *testing.T) {
		t.Setenv("GOROOT", root)
		t.Setenv("PATH", "")
		if dir, err := goImages(t.Context()); err != nil || dir != filepath.Join(root, "src", "image") {
			t.Errorf("%q, %v", dir, err)
		}
	})
	t.Run("the command is asked next", func(t *testing.T) {
		if goRootOfCommand(t.Context()) == "" {
			t.Skip("no go command")
		}
		t.Setenv("GOROOT", "")
		os.Unsetenv("GOROOT")
		if dir, err := goImages(t.Context()); err != nil || !strings.HasSuffix(dir, filepath.Join("src", "image")) {
			t.Errorf("%q, %v", dir, err)
		}
	})
	t.Run("without either there is one clear line", func(t *testing.T) {
		t.Setenv("PATH", "")
		for _, root := range []string{"", filepath.Join(root, "gone")} {
			t.Setenv("GOROOT", root)
			execute(t).failsWith(t, 1, "no Go installation", "-dir", "GOROOT")
			execute(t, "-json").failsWith(t, 1, "no Go installation")
		}
	})
}

// installation is a folder that looks like one of Go.
func installation(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "src", "image"), 0o777); err != nil {
		t.Fatal(err)
	}
	return root
}
