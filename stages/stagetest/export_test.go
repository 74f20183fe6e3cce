package stagetest

import (
	"testing"

	"github.com/weirflow/weir/stages"
)

// ConformTo is Conform for a t that cannot run subtests: run does.
func ConformTo[In, Out any](t testing.TB, build func(stages.Stream[In]) stages.Stream[Out], run func(string, func(testing.TB)) bool, samples ...In) {
	conform(t, build, samples, run)
}
