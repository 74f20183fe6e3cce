package plan

import (
	"strings"
	"testing"
)

// What is in one place is drawn in one frame, and what is nowhere in none.
func TestPlacesAreShown(t *testing.T) {
	g := chain(Stage{Kind: "source"}, Stage{Kind: "map", Mailbox: 1, MaxOutputs: 1}, Stage{Kind: "map", Mailbox: 2, MaxOutputs: 1, Ordered: true})
	where := map[int]string{0: "here", 2: `child "1"`}
	for _, c := range []struct{ got, want string }{
		{g.Mermaid(where), `flowchart LR
  s1["s1<br/>map, mailbox 1"]
  subgraph n0["here"]
    s0(["s0<br/>source"])
  end
  subgraph n1["child #34;1#34;"]
    s2["s2<br/>map, mailbox 2"]
  end
  out(("the consumer"))
  s0 -->|"int64, ≤ 1"| s1
  s1 -->|"int64, ≤ 2"| s2
  s2 -->|"int64, ≤ 9"| out
`},
		{g.DOT(where), `digraph "chain" {
  rankdir=LR
  node [shape=box]
  s1 [label="s1\nmap, mailbox 1"]
  subgraph cluster_0 {
    label="here"
    s0 [label="s0\nsource", shape=oval]
  }
  subgraph cluster_1 {
    label="child \"1\""
    s2 [label="s2\nmap, mailbox 2"]
  }
  out [label="the consumer", shape=doublecircle]
  s0 -> s1 [label="int64, ≤ 1"]
  s1 -> s2 [label="int64, ≤ 2"]
  s2 -> out [label="int64, ≤ 9"]
}
`},
		{g.Describe(where), `pipeline "chain", 3 stages

stage         kind    from  items  mailbox  room  order      holds  where
s0            source  -     int64  -        0     -          1      here
s1            map     s0    int64  1        0     unordered  1
s2            map     s1    int64  2        0     ordered    2      "child \"1\""
the consumer  outlet  s2    int64  -        flow  -          9

At most 13 items are held.
Of the sources' items, at most 13 are in flight.
Their values, as inputs and as outputs, take at most 128 bytes, without the chunks around them.
`},
	} {
		if c.got != c.want {
			t.Errorf("got\n%s\nwant\n%s", c.got, c.want)
		}
	}
}

func TestManyInputsAreCutShort(t *testing.T) {
	g := chain(Stage{}, Stage{Mailbox: 1, Mix: &Mix{How: Weighted}})
	for range 19 {
		g.Stages[1].In = append(g.Stages[1].In, Port{})
	}
	for range 20 {
		g.Stages[1].Mix.Weights = append(g.Stages[1].Mix.Weights, 0.5)
	}
	if s := g.Describe(nil); !strings.Contains(s, " s0, s0, s0, s0, s0, s0, s0, s0 and 12 more ") || !strings.Contains(s, "weighted 0.5 : 0.5 : 0.5 : 0.5 : 0.5 : 0.5 : 0.5 : 0.5 and 12 more, seed 0") {
		t.Errorf("got %s", s)
	}
}

func TestWhatBecomesOfFailedItemsIsShown(t *testing.T) {
	for want, policy := range map[string]Policy{
		"skips 5":                {Count: 5},
		"skips 1%":               {Fraction: 0.01},
		"dead letters for 10000": {Count: 10_000, Letters: "a sink"},
		"dead letters for 0":     {Letters: "a sink"},
		"dead letters for 12.5%": {Fraction: 0.125, Letters: "a sink"},
	} {
		if s := chain(Stage{}, Stage{Mailbox: 1, MaxOutputs: 1, Policy: policy}).Describe(nil); !strings.Contains(s, "  "+want+"\n") {
			t.Errorf("got %s, want %s", s, want)
		}
	}
	if s := chain(Stage{}, Stage{Mailbox: 1, MaxOutputs: 1}).Describe(nil); strings.Contains(s, "skips") || strings.Contains(s, "letters") {
		t.Errorf("got %s", s)
	}
}
