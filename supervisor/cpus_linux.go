package supervisor

import (
	"os"
	"strings"
)

// onlineCPUs returns the cores that the system uses, by number, and whether it says so. A child may be given those that this
// process may not run on; the system leaves out without a word those that do not exist.
func onlineCPUs() (cpus []int, known bool) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, false
	}
	cpus, reason := parseCPUs(strings.TrimSpace(string(text)))
	return cpus, reason == ""
}
