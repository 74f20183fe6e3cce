package plan

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Difference tells the first difference between two texts that FingerprintText has made in two processes, there and here,
// in words: `stage "decode": mailbox 4 there, 8 here`. It is "" if they are equal. Either text may come from a stranger:
// what is told is short, on one line, and has no control characters in it.
func Difference(there, here string) string {
	stage := ""
	for n := 0; there != here; {
		a, restA, _ := strings.Cut(there, "\n")
		b, restB, _ := strings.Cut(here, "\n")
		if a != b {
			return differs(stage, n, a, b)
		}
		if name, ok := strings.CutPrefix(a, "stage: "); ok {
			stage = name
			n++
		}
		there, here = restA, restB
		if there == "" && here == "" {
			return "they end differently" // in a line break, or none: nobody but a stranger sends that
		}
	}
	return ""
}

// differs tells of the first two lines that differ, below the n-th stage, if there is one.
func differs(stage string, n int, a, b string) string {
	inner := strings.HasPrefix(a, "\t") && strings.HasPrefix(b, "\t")
	key, there, _ := strings.Cut(strings.TrimPrefix(a, "\t"), ": ")
	other, here, _ := strings.Cut(strings.TrimPrefix(b, "\t"), ": ")
	there, here = excerpts(there, here)
	switch {
	case key != other:
		there, here = excerpts(a, b)
		return fmt.Sprintf("%s there, %s here", there, here)
	case inner:
		return fmt.Sprintf("stage %s: %s %s there, %s here", excerpt(stage), excerpt(key), there, here)
	case key == "stage":
		return fmt.Sprintf("stage %d is %s there, %s here", n+1, there, here)
	}
	return fmt.Sprintf("%s %s there, %s here", excerpt(key), there, here)
}

// longestExcerpt is how many bytes of a value a message has.
const longestExcerpt = 100

// excerpts is what of two values fits into a message: of long ones what is around the first difference.
func excerpts(a, b string) (string, string) {
	if len(a) > longestExcerpt || len(b) > longestExcerpt {
		same := 0
		for same < min(len(a), len(b)) && a[same] == b[same] {
			same++
		}
		if from := same - longestExcerpt/3; from > 0 {
			for from > 0 && !utf8.RuneStart(a[from]) {
				from--
			}
			a, b = "…"+a[from:], "…"+b[from:]
		}
	}
	return excerpt(a), excerpt(b)
}

func excerpt(s string) string {
	if s == "" {
		return "none"
	}
	if len(s) > longestExcerpt {
		s = strings.ToValidUTF8(s[:longestExcerpt], "") + "…"
	}
	return Printable(s)
}

// Printable returns s with its control characters escaped, and what is no UTF-8: what comes from a stranger and is printed
// must not speak to a terminal. Line breaks and tabs stay.
func Printable(s string) string {
	fine := func(r rune, size int) bool {
		return r == '\n' || r == '\t' || unicode.IsPrint(r) && !(r == utf8.RuneError && size == 1)
	}
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		if !fine(r, size) {
			return escaped(s, fine)
		}
	}
	return s
}

func escaped(s string, fine func(rune, int) bool) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if fine(r, size) {
			b.WriteString(s[:size])
		} else {
			quoted := strconv.Quote(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}
