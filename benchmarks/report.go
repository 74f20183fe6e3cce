package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// A row is what was found out about one contender at one work: medians. The first five fields are always there. An
// item of a latency takes from its beginning to its arrival.
type row struct {
	Work          string  `json:"work"`
	Contender     string  `json:"contender"`
	NsPerItem     float64 `json:"ns_per_item"`
	AllocsPerItem float64 `json:"allocs_per_item"`
	Ratio         float64 `json:"ratio_to_channels"`

	MinNs    float64 `json:"min_ns_per_item,omitzero"`
	MaxNs    float64 `json:"max_ns_per_item,omitzero"`
	CPUNs    float64 `json:"cpu_ns_per_item,omitzero"`       // of all processors
	MinRatio float64 `json:"min_ratio_to_channels,omitzero"` // of the rounds
	MaxRatio float64 `json:"max_ratio_to_channels,omitzero"`
	Void     bool    `json:"void,omitzero"` // the rounds of the baseline were too far apart

	Base      string  `json:"base,omitzero"`                // what the ratios are to, if that is not the channels
	ArenaFull float64 `json:"arena_full_per_item,omitzero"` // blocks for which shared memory had no room

	P99Ns    float64 `json:"p99_ns_per_item,omitzero"`
	NsPerHop float64 `json:"ns_per_hop,omitzero"`

	Ahead       []int64 `json:"ahead,omitempty"` // items ahead of the slow sink, at the moments of slowMoments
	HeapBytes   int64   `json:"heap_growth_bytes,omitzero"`
	CPUPerSecMs float64 `json:"cpu_ms_per_s,omitzero"`
	CPURatio    float64 `json:"cpu_ratio_to_sleeps,omitzero"`
	Goroutines  int     `json:"goroutines,omitzero"`
}

// header tells, on one line, where and how the rows came about, and whether they mean anything.
func header(w io.Writer, rows []row, rounds int, quick bool) {
	var void []string
	for _, r := range rows {
		if r.Void {
			void = append(void, r.Work)
		}
	}
	fmt.Fprintf(w, "benchmarks: %s %s/%s cpus=%d gomaxprocs=%d rounds=%d quick=%t void=%t\n", runtime.Version(),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.GOMAXPROCS(0), rounds, quick, len(void) > 0)
	if len(void) > 0 {
		fmt.Fprintf(w, "VOID: the rounds of the %s spread by more than %.0f %% at %s. The machine was busy: run again when it is quiet.\n",
			baseline, 100*maxSpread, strings.Join(void, ", "))
	}
}

func writeJSON(w io.Writer, rows []row) error {
	if rows == nil {
		rows = []row{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(rows)
}

// A section is a table of the rows of some works.
type section struct {
	title, columns string
	works          []string
	cells          func(r row) []string
}

func sections() []section {
	return []section{
		{"throughput: medians over the rounds, and their range", "work\tcontender\tns/item\trange\tcpu ns/item\tallocs/item\tof channels\trange",
			[]string{"a", "b", "c", "d", "e", "wide"}, func(r row) []string {
				return []string{
					number(r.NsPerItem), number(r.MinNs) + " - " + number(r.MaxNs), number(r.CPUNs), fmt.Sprintf("%.4f", r.AllocsPerItem),
					fmt.Sprintf("%.3f", r.Ratio) + mark(r), fmt.Sprintf("%.3f - %.3f", r.MinRatio, r.MaxRatio),
				}
			}},
		{"across processes: medians over the rounds, and their range", "work\tcontender\tns/item\trange\tcpu ns/item\tallocs/item here\tof baseline\trange\tinline",
			[]string{"far-ints", "far-structs", "far-64k", "far-1m"}, func(r row) []string {
				return []string{
					number(r.NsPerItem), number(r.MinNs) + " - " + number(r.MaxNs), number(r.CPUNs), fmt.Sprintf("%.2f", r.AllocsPerItem),
					fmt.Sprintf("%.2f of %s", r.Ratio, r.Base) + mark(r), fmt.Sprintf("%.2f - %.2f", r.MinRatio, r.MaxRatio), fmt.Sprintf("%.3f", r.ArenaFull),
				}
			}},
		{"latency of single items: percentiles over all items", "work\tcontender\tp50\tp99\tper hop\tallocs\tof channels",
			[]string{"first", "warm", "hop", "far-first", "far-kill"}, func(r row) []string {
				hop := ""
				if r.NsPerHop > 0 {
					hop = duration(r.NsPerHop)
				}
				return []string{duration(r.NsPerItem), duration(r.P99Ns), hop, fmt.Sprintf("%.1f", r.AllocsPerItem), fmt.Sprintf("%.2f", r.Ratio)}
			}},
		{"slow sink: 1 ms per item behind a source without limit", "work\tcontender\titem\tahead at item " + moments() + "\tlive heap\tcpu ms/s\tof the sleeps alone",
			[]string{"slow"}, func(r row) []string {
				return []string{
					duration(r.NsPerItem), strings.Trim(fmt.Sprint(r.Ahead), "[]"), fmt.Sprintf("%+d KiB", r.HeapBytes>>10),
					fmt.Sprintf("%.1f", r.CPUPerSecMs), fmt.Sprintf("%.2f", r.CPURatio),
				}
			}},
		{"idle: a parked pipeline", "work\tcontender\tcpu ms/s\tgoroutines",
			[]string{"idle"}, func(r row) []string {
				return []string{fmt.Sprintf("%.2f", r.CPUPerSecMs), fmt.Sprint(r.Goroutines)}
			}},
	}
}

// writeTables writes one table per section that has rows.
func writeTables(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range sections() {
		empty := true
		for _, work := range s.works {
			for _, r := range rows {
				if r.Work != work {
					continue
				}
				if empty {
					fmt.Fprintf(t, "\n%s\n%s\n", s.title, s.columns)
					empty = false
				}
				fmt.Fprintf(t, "%s\t%s\t%s\n", r.Work, r.Contender, strings.Join(s.cells(r), "\t"))
			}
		}
	}
	return t.Flush()
}

func mark(r row) string {
	if r.Void {
		return " VOID"
	}
	return ""
}

// number writes three significant digits at least.
func number(ns float64) string {
	if math.Abs(ns) < 100 {
		return fmt.Sprintf("%.1f", ns)
	}
	return fmt.Sprintf("%.0f", ns)
}

func duration(ns float64) string { return time.Duration(ns).Round(100 * time.Nanosecond).String() }
