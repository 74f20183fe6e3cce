//go:build !linux

package supervisor

import "runtime"

// onlineCPUs returns the cores that the system uses, by number, and whether it says so: here, that many of the first ones.
func onlineCPUs() (cpus []int, known bool) {
	for c := range runtime.NumCPU() {
		cpus = append(cpus, c)
	}
	return cpus, true
}
