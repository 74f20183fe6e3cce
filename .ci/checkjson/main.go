//go:build ignore

// Command checkjson reads what a pipeline program printed and checks that no item went missing.
//
// Its input must be exactly one JSON object, whose counts add up: yielded = delivered + filtered + failed, and yielded
// is not zero, because a run without items shows nothing. Arguments are further counts that must be there, with what they
// must be.
//
//	go run ./examples/imageloader -json | go run .ci/checkjson/main.go
//	go run ./examples/restart -json | go run .ci/checkjson/main.go lost=0 duplicated=0
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	line, err := check(os.Stdin, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "checkjson:", err)
		os.Exit(1)
	}
	fmt.Println(line)
}

// check returns the equation that holds, and what it was told to look at besides.
func check(r io.Reader, expected []string) (string, error) {
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
		n, err := count(got, name)
		if err != nil {
			return "", err
		}
		counts[name] = n
	}
	equation := fmt.Sprintf("yielded %d = delivered %d + filtered %d + failed %d",
		counts["yielded"], counts["delivered"], counts["filtered"], counts["failed"])
	if counts["yielded"] == 0 {
		return "", errors.New("nothing was yielded: the run shows nothing")
	}
	if counts["yielded"] != counts["delivered"]+counts["filtered"]+counts["failed"] {
		return "", fmt.Errorf("items went missing or were counted twice: %s does not hold", equation)
	}
	for _, e := range expected {
		if err := meets(got, e); err != nil {
			return "", err
		}
		equation += ", " + e
	}
	return equation, nil
}

// meets compares a field with what it must be, as "lost=0".
func meets(got map[string]json.RawMessage, expected string) error {
	name, value, _ := strings.Cut(expected, "=")
	want, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return fmt.Errorf("argument %q is not name=count", expected)
	}
	n, err := count(got, name)
	if err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("field %q is %d, want %d", name, n, want)
	}
	return nil
}

func count(got map[string]json.RawMessage, name string) (uint64, error) {
	raw, ok := got[name]
	if !ok {
		return 0, fmt.Errorf("no field %q", name)
	}
	var n *uint64
	if err := json.Unmarshal(raw, &n); err != nil || n == nil {
		return 0, fmt.Errorf("field %q is no count: %s", name, raw)
	}
	return *n, nil
}
