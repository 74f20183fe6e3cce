package main

import (
	"reflect"
	"testing"
)

func TestATensorIsTheSameBehindItsBlock(t *testing.T) {
	want := tensor{Path: "a.png", CHW: make([]float32, values)}
	for i := range want.CHW {
		want.CHW[i] = float32(i) / values
	}
	head, block, err := want.Split()
	if err != nil {
		t.Fatal(err)
	}
	var got tensor
	if err := got.Join(head, block); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, and it is another tensor", err)
	}
	for _, n := range []int{0, 1, len(block) - 1} {
		if err := new(tensor).Join(head, block[:n]); err == nil {
			t.Errorf("%d bytes are a tensor", n)
		}
	}
}
