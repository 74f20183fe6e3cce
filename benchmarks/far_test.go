package main

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/weirflow/weir/supervisor"
)

func TestMain(m *testing.M) {
	supervisor.Main(farPipelines()...) // the children of the tests
	if len(os.Args) == 2 && os.Args[1] == helloFlag {
		hello()
		return
	}
	os.Exit(m.Run())
}

func TestContendersAcrossProcessesDoTheirWork(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no child processes")
	}
	s := supervisor.Main(farPipelines()...)
	for _, w := range farWorks(s) {
		for _, c := range w.contenders {
			t.Run(w.name+"/"+c.name, func(t *testing.T) {
				if _, err := c.run(t.Context(), 101); err != nil && !errors.Is(err, errors.ErrUnsupported) {
					t.Error(err)
				}
			})
		}
	}
	for _, l := range farLatencies(s) {
		for _, c := range l.contenders {
			t.Run(l.name+"/"+c.name, func(t *testing.T) {
				if took, err := c.run(t.Context(), 1); err != nil || len(took) != 1 {
					t.Errorf("%v, %v", took, err)
				}
			})
		}
	}
}
