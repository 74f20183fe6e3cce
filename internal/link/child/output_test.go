package child

import (
	"slices"
	"strings"
	"testing"
)

func TestLinesAreCutWhereTheyAreTooLong(t *testing.T) {
	long := strings.Repeat("x", maxLineBytes)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"a\nb", []string{"a", "b"}},
		{"\n\na\n", []string{"", "", "a"}},
		{long + "\n" + "b\n", []string{long, "b"}},
		{long + "yz\n" + "b\n", []string{long, "yz", "b"}},
		{long + long + "y", []string{long, long, "y"}},
	} {
		for _, step := range []int{1, 2, 3, 1000, maxLineBytes, 1 << 20} {
			var got []string
			s := splitter{each: func(line []byte) { got = append(got, string(line)) }}
			for b := []byte(c.text); len(b) > 0; {
				n := min(step, len(b))
				s.write(b[:n])
				b = b[n:]
			}
			s.flush()
			if !slices.Equal(got, c.want) {
				t.Errorf("%.10q... by %d: %.100q", c.text, step, got)
			}
		}
	}
}

func TestATailHasTheEndAndTheBeginningOfACrash(t *testing.T) {
	write := func(parts ...string) string {
		var kept tail
		s := splitter{each: kept.line}
		for _, p := range parts {
			kept.write([]byte(p))
			s.write([]byte(p))
		}
		s.flush()
		return string(kept.bytes())
	}
	stacks := slices.Repeat([]string{strings.Repeat("goroutine 1 [select]:\nmain.main()\n\n", 800)}, 10)
	if got := write("a\n", "b"); got != "a\nb" {
		t.Errorf("%q", got)
	}
	if got := write(stacks...); len(got) != tailBytes || !strings.HasSuffix(strings.Join(stacks, ""), got) {
		t.Errorf("%d bytes", len(got))
	}
	got := write(append([]string{"before\npanic: old\n", strings.Repeat("s\n", headBytes), "panic: new\n"}, stacks...)...)
	if len(got) != tailBytes || !strings.HasPrefix(got, "panic: new\ngoroutine 1") || strings.Count(got, "[...]") != 1 || !strings.HasSuffix(got, "main.main()\n\n") {
		t.Errorf("%d bytes: %.200q", len(got), got)
	}
	for size := tailBytes - 2; size < 5*tailBytes; size += 4093 { // whatever is there when the end comes
		got := write("panic: new\n", strings.Repeat("12345678901234\n", size/15), "end")
		if len(got) > tailBytes || !strings.HasPrefix(got, "panic: new\n") || !strings.HasSuffix(got, "end") {
			t.Errorf("of %d bytes %d: %.200q", size, len(got), got)
		}
	}
	if got := write(append(stacks, "panic: late\n")...); len(got) != tailBytes || strings.Count(got, "panic: late") != 1 {
		t.Errorf("%d bytes: %.200q", len(got), got)
	}
}
