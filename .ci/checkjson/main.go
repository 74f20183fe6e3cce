//go:build ignore

// Command checkjson reads what a pipeline program printed and checks that no item went missing.
//
// Its input must be exactly one JSON object, whose counts add up: yielded = delivered + filtered + failed, and yielded
// is not zero, because a run without items shows nothing.
//
//	go run ./examples/imageloader -json | go run .ci/checkjson/main.go
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	line, err := check(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "checkjson:", err)
		os.Exit(1)
	}
	fmt.Println(line)
}

// check returns the equation that holds.
func check(r io.Reader) (string, error) {
	var got map[string]json.RawMessage
	dec := json.NewDecoder(r)
	if err := dec.Decode(&got); err != nil {
		return "", fmt.Errorf("not one JSON object: %w", err)
	}
	if got == nil {
		return "", errors.New("not one JSON object: null")
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", errors.New("something follows the JSON object")
	}
	counts := map[string]uint64{}
	for _, name := range []string{"yielded", "delivered", "filtered", "failed"} {
		raw, ok := got[name]
		if !ok {
			return "", fmt.Errorf("no field %q", name)
		}
		var n *uint64
		if err := json.Unmarshal(raw, &n); err != nil || n == nil {
			return "", fmt.Errorf("field %q is no count: %s", name, raw)
		}
		counts[name] = *n
	}
	equation := fmt.Sprintf("yielded %d = delivered %d + filtered %d + failed %d",
		counts["yielded"], counts["delivered"], counts["filtered"], counts["failed"])
	if counts["yielded"] == 0 {
		return "", errors.New("nothing was yielded: the run shows nothing")
	}
	if counts["yielded"] != counts["delivered"]+counts["filtered"]+counts["failed"] {
		return "", fmt.Errorf("items went missing or were counted twice: %s does not hold", equation)
	}
	return equation, nil
}
