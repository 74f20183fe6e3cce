//go:build ignore

package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		err      string // "": holds
	}{
		{"adds up", `{"pipeline":"p","yielded":7,"delivered":4,"filtered":2,"failed":1,"mean":0.5}` + "\n", ""},
		{"an item is missing", `{"yielded":7,"delivered":4,"filtered":1,"failed":1}`, "went missing"},
		{"an item is counted twice", `{"yielded":7,"delivered":7,"filtered":0,"failed":1}`, "went missing"},
		{"nothing yielded", `{"yielded":0,"delivered":0,"filtered":0,"failed":0}`, "nothing was yielded"},
		{"a count is absent", `{"yielded":1,"delivered":1,"failed":0}`, `no field "filtered"`},
		{"a count is negative", `{"yielded":1,"delivered":2,"filtered":-1,"failed":0}`, "is no count"},
		{"a count is null", `{"yielded":1,"delivered":1,"filtered":null,"failed":0}`, "is no count"},
		{"two objects", `{"yielded":1,"delivered":1,"filtered":0,"failed":0}{}`, "something follows"},
		{"a log line follows", `{"yielded":1,"delivered":1,"filtered":0,"failed":0}` + "\ndone", "something follows"},
		{"a log line before", "start\n{}", "not one JSON object"},
		{"an array", "[]", "not one JSON object"},
		{"null", "null", "not one JSON object"},
		{"silence", "", "not one JSON object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := check(strings.NewReader(tc.in), nil)
			if tc.err == "" && err != nil {
				t.Fatal(err)
			}
			if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("error %v does not say %q", err, tc.err)
			}
		})
	}
}

func TestCheckOfExpectedCounts(t *testing.T) {
	const in = `{"yielded":1,"delivered":1,"filtered":0,"failed":0,"lost":0,"restarts":7,"seconds":0.5}`
	for _, tc := range []struct {
		name     string
		expected []string
		err      string // "": holds
	}{
		{"all are met", []string{"lost=0", "restarts=7", "failed=0"}, ""},
		{"one is not", []string{"lost=0", "restarts=8"}, `field "restarts" is 7, want 8`},
		{"one is absent", []string{"duplicated=0"}, `no field "duplicated"`},
		{"one is no count", []string{"seconds=0"}, `field "seconds" is no count: 0.5`},
		{"an argument without a value", []string{"lost"}, `argument "lost" is not name=count`},
		{"an argument with a word", []string{"lost=none"}, `argument "lost=none" is not name=count`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := check(strings.NewReader(in), tc.expected)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || err.Error() != tc.err) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
		})
	}
}
