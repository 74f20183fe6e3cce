package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/supervisor"
)

// A summary is what came of a run. As JSON it has exactly these keys, in this order; the counts are of images.
type summary struct {
	Pipeline  string      `json:"pipeline"`
	Placement string      `json:"placement"`
	Yielded   int64       `json:"yielded"`
	Delivered int64       `json:"delivered"`
	Filtered  int64       `json:"filtered"`
	Failed    int64       `json:"failed"`
	Batches   int64       `json:"batches"`
	Mean      *[3]float64 `json:"mean"` // nil when no image was delivered: JSON has no NaN
	Std       *[3]float64 `json:"std"`  // nil with Mean
	Seconds   float64     `json:"seconds"`
	Rate      float64     `json:"items_per_second"` // of the delivered

	stages   []supervisor.StageStats
	failures []*stages.ItemError // the last of them
	restarts []string            // of processes, a line each
}

func summarize(st supervisor.Stats, at supervisor.Placement, seen moments) summary {
	s := summary{
		Pipeline: st.Pipeline, Placement: at.String(),
		Yielded: st.Yielded, Delivered: st.Delivered, Filtered: st.Filtered, Failed: st.Failed, Batches: st.Outputs,
		Seconds: st.Elapsed.Seconds(), stages: st.Stages, failures: st.Failures,
	}
	if seen.pixels > 0 {
		mean, std := seen.mean, seen.std()
		s.Mean, s.Std = &mean, &std
	}
	if s.Seconds > 0 {
		s.Rate = float64(s.Delivered) / s.Seconds
	}
	return s
}

// writeJSON writes one object to w and the failures to log.
func (s summary) writeJSON(w, log io.Writer) error {
	for _, line := range append(s.failureLines(), s.restarts...) {
		fmt.Fprintln(log, "imageloader:", line)
	}
	return json.NewEncoder(w).Encode(s)
}

// writeText writes the summary for people, with a table if w is a terminal.
func (s summary) writeText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: images %d, batches %d, seconds %.2f, images/s %.1f\n",
		s.Pipeline, s.Placement, s.Delivered, s.Batches, s.Seconds, s.Rate)
	fmt.Fprintf(&b, "yielded %d = delivered %d + filtered %d + failed %d\n", s.Yielded, s.Delivered, s.Filtered, s.Failed)
	if s.Mean != nil {
		b.WriteString("mean " + channels(*s.Mean) + "\nstd  " + channels(*s.Std) + "\n")
	} else {
		b.WriteString("no images, no mean\n")
	}
	if _, ok := w.(terminal); ok {
		b.WriteString(s.stageTable() + "\n")
	} else {
		for _, st := range s.stages {
			fmt.Fprintf(&b, "stage %s: %s, mailbox %d, at %s, in %d, out %d, filtered %d, failed %d, busy %s\n",
				st.Stage, st.Kind, st.Mailbox, printable(st.Where), st.In, st.Out, st.Filtered, st.Failed, percent(st.Busy))
		}
	}
	for _, line := range append(s.failureLines(), s.restarts...) {
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s summary) stageTable() string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"stage", "kind", "mailbox", "where", "in", "out", "filtered", "failed", "busy"})
	for _, st := range s.stages {
		t.AppendRow(table.Row{st.Stage, st.Kind, st.Mailbox, printable(st.Where), st.In, st.Out, st.Filtered, st.Failed, percent(st.Busy)})
	}
	return t.Render()
}

// failureLines name what failed and why, each file once. A run keeps the last hundred failures; of the ones before
// there is the count.
func (s summary) failureLines() (lines []string) {
	times := map[string]int{}
	for _, f := range s.failures {
		times["failed: "+printable(f.Err.Error())]++
	}
	for _, line := range slices.Sorted(maps.Keys(times)) {
		if n := times[line]; n > 1 {
			line += fmt.Sprintf(" (%d times)", n)
		}
		lines = append(lines, line)
	}
	if n := s.Failed - int64(len(s.failures)); n > 0 {
		lines = append(lines, fmt.Sprintf("failed: %d images before these", n))
	}
	return lines
}

func channels(v [3]float64) string {
	return fmt.Sprintf("red %.4f  green %.4f  blue %.4f", v[0], v[1], v[2])
}

func percent(part float64) string { return fmt.Sprintf("%.0f%%", 100*part) }

// printable returns s as one line without control characters: the names of files may have any.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
