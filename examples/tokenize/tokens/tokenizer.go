package tokens

import (
	"context"
	"hash/fnv"
	"strings"
	"unicode"
)

// A tokenizer belongs to one worker: it keeps a buffer, and so is not safe for concurrent use.
type tokenizer struct {
	vocabulary uint32
	buffer     []int32
}

// openTokenizer is called once per worker. A real one reads its vocabulary here.
func (cfg Config) openTokenizer(context.Context) (*tokenizer, error) {
	return &tokenizer{vocabulary: uint32(cfg.Words)}, nil
}

// words makes a token of each word, whatever its case.
func (t *tokenizer) words(_ context.Context, d Doc) (Tokens, error) {
	for w := range strings.FieldsSeq(strings.ToLower(d.Text)) {
		t.add(strings.TrimFunc(w, unicode.IsPunct))
	}
	return t.take(d), nil
}

// symbols makes a token of each name and number, and of each other sign.
func (t *tokenizer) symbols(_ context.Context, d Doc) (Tokens, error) {
	name := -1 // where it begins
	for i, r := range d.Text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			if name < 0 {
				name = i
			}
			continue
		}
		if name >= 0 {
			t.add(d.Text[name:i])
			name = -1
		}
		if !unicode.IsSpace(r) {
			t.add(string(r))
		}
	}
	if name >= 0 {
		t.add(d.Text[name:])
	}
	return t.take(d), nil
}

// cells makes a token of each cell.
func (t *tokenizer) cells(_ context.Context, d Doc) (Tokens, error) {
	for line := range strings.Lines(d.Text) {
		for cell := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), ",") {
			t.add(cell)
		}
	}
	return t.take(d), nil
}

// add adds the token of a word: a number that follows from the word.
func (t *tokenizer) add(word string) {
	h := fnv.New32a()
	h.Write([]byte(word)) // never fails
	t.buffer = append(t.buffer, int32(h.Sum32()%t.vocabulary))
}

// take returns a copy of what was added: the buffer is used again for the next document.
func (t *tokenizer) take(d Doc) Tokens {
	tokens := append([]int32(nil), t.buffer...)
	t.buffer = t.buffer[:0]
	return Tokens{d.ID, tokens}
}

// stripLicence takes the comment away with which a file begins.
func stripLicence(_ context.Context, d Doc) (Doc, error) {
	for strings.HasPrefix(d.Text, "//") {
		_, d.Text, _ = strings.Cut(d.Text, "\n")
	}
	return d, nil
}
