package actors

import (
	"fmt"
	"runtime"
	"strings"
)

// userStack returns where user code is: from the function that panicked, or called Goexit, down to where the runtime
// called it. debug.Stack would print the frames of the runtime as well, at four times the price.
func userStack() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var b strings.Builder
	inside := false // past the deferred calls that brought us here
	for {
		f, more := frames.Next()
		switch {
		case strings.HasSuffix(f.Function, "actors.(*worker).do"), strings.HasSuffix(f.Function, "actors.(*iterator).iterate"),
			strings.HasSuffix(f.Function, "actors.(*picker).choose"):
			return b.String()
		case f.Function == "runtime.gopanic", f.Function == "runtime.Goexit":
			inside = true // the last of them counts: user code may have panicked in a deferred call
			b.Reset()
		case inside && !strings.HasPrefix(f.Function, "runtime."):
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
