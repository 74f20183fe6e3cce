package plan

import (
	"fmt"
	"runtime"
	"strings"
)

// Panicked says why user code has not returned: what recover has returned in a deferred function, which calls this, as
// fmt prints it, or that it was runtime.Goexit; and where user code is, from the function that panicked down to where
// the runtime called it. debug.Stack would print the frames of the runtime as well, at four times the price.
func Panicked(recovered any) (value, stack string) {
	if recovered == nil {
		return "runtime.Goexit was called", userStack()
	}
	return said(recovered), userStack()
}

// said is a panic value as fmt prints it. Its methods are user code, and may end the goroutine that asks them: those that
// could get one for it.
func said(value any) string {
	switch value.(type) {
	case string, int:
		return fmt.Sprint(value)
	}
	text := fmt.Sprintf("a %T whose methods do not return", value)
	asked := make(chan struct{})
	// Owner: the caller, who waits for it. Ends when the methods do.
	go func() {
		defer close(asked)
		text = fmt.Sprint(value)
	}()
	<-asked
	return text
}

func userStack() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	self, more := frames.Next()
	module := strings.TrimSuffix(self.Function, "internal/plan.userStack")
	var b strings.Builder
	inside := false // past the deferred calls that brought us here
	for more {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "runtime.gopanic", f.Function == "runtime.Goexit":
			inside = true // the last of them counts: user code may have panicked in a deferred call
			b.Reset()
		case !inside, strings.HasPrefix(f.Function, "runtime."):
		case strings.HasPrefix(f.Function, module+"actors."), strings.HasPrefix(f.Function, module+"supervisor.(*run).runTask"),
			strings.HasPrefix(f.Function, module+"supervisor.openSink"), f.Function == module+"supervisor.shielded",
			strings.HasPrefix(f.Function, module+"stages/stagetest.(*thread)."): // nothing else calls user code
			return b.String()
		default:
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
	}
	return b.String()
}
