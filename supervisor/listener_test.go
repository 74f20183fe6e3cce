package supervisor_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/weirflow/weir/supervisor"
)

// runtime.Goexit in a listener, which is what t.FailNow does, ends the herald's goroutine, but the herald stays busy:
// nobody is told anything any more.
func TestAListenerThatEndsItsGoroutineIsToldTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		sup := supervisor.New(supervisor.Config{OnEvent: func(supervisor.Event) {
			if calls++; calls == 1 {
				runtime.Goexit()
			}
		}})
		for _, err := range supervisor.Items(t.Context(), sup, luckPipeline(), nil) {
			if err != nil {
				break
			}
		}
		synctest.Wait()
		if calls < 3 {
			t.Errorf("%d calls of the listener", calls)
		}
	})
}
