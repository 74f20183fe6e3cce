package tokens

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weirflow/weir/supervisor"
	"github.com/weirflow/weir/supervisor/supervisortest"
)

var sup *supervisor.Supervisor // set by TestMain

func TestMain(m *testing.M) {
	sup = supervisor.Main(Pipeline)
	os.Exit(m.Run())
}

// batches are those that the pipeline makes at a placement.
func batches(t *testing.T, cfg Config, at supervisor.Placement) [][]Tokens {
	t.Helper()
	all, err := supervisortest.Collect(t, sup, Pipeline.With(cfg), at)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func config(t *testing.T) Config {
	t.Helper()
	shards, err := WriteShards(t.TempDir(), 6, 100)
	if err != nil {
		t.Fatal(err)
	}
	return Config{Shards: shards, Seed: 3, Words: 1 << 15, MaxTokens: 1000}
}

func TestEachDocumentIsInOneFullBatchOrLeftOver(t *testing.T) {
	cfg := config(t)
	for name, at := range supervisortest.Placements(t, sup, Pipeline.With(cfg)) {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for i, batch := range batches(t, cfg, at) {
				n := 0
				for _, d := range batch {
					if seen[d.ID] {
						t.Errorf("%s comes twice", d.ID)
					}
					seen[d.ID] = true
					n += len(d.Tokens)
				}
				if n > cfg.MaxTokens || n < cfg.MaxTokens-320 { // no document has more than 320 tokens
					t.Errorf("batch %d has %d tokens", i, n)
				}
			}
			left := 0
			for n := range 600 {
				if d := makeDoc(n); n%20 != 19 && !seen[d.ID] { // every twentieth is the one before it once more
					left += tokensOf(t, cfg, d)
				}
			}
			if left >= cfg.MaxTokens {
				t.Errorf("%d tokens are left over: enough for a batch", left)
			}
		})
	}
}

// tokensOf returns how many tokens a document has.
func tokensOf(t *testing.T, cfg Config, d Doc) int {
	t.Helper()
	tok, err := cfg.openTokenizer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d, err = stripLicence(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	tokens, err := map[string]func(*tokenizer, context.Context, Doc) (Tokens, error){
		"prose": (*tokenizer).words, "code": (*tokenizer).symbols, "table": (*tokenizer).cells,
	}[d.Kind](tok, t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return len(tokens.Tokens)
}

// Though two shards are read at a time, and documents are tokenised in three ways by seven workers.
func TestTheBatchesDependOnTheConfigAlone(t *testing.T) {
	cfg := config(t)
	first, second := batches(t, cfg, nil), batches(t, cfg, nil)
	if !reflect.DeepEqual(first, second) {
		t.Error("the batches are others the second time")
	}
	cfg.Seed++
	if other := batches(t, cfg, nil); reflect.DeepEqual(first, other) {
		t.Error("another seed makes the same batches")
	}
}

func TestADocumentOfAnUnknownKindIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd.json")
	if err := os.WriteFile(path, []byte(`{"ID": "odd", "Kind": "poem", "Text": "a weir"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Shards: []string{path}, Words: 10, MaxTokens: 10}
	_, err := supervisortest.Collect(t, sup, Pipeline.With(cfg), nil)
	if err == nil || !strings.Contains(err.Error(), `document odd is of an unknown kind, "poem"`) {
		t.Errorf("got %v", err)
	}
}

func TestTokenizersMakeTokensOfTheirKind(t *testing.T) {
	tok := &tokenizer{vocabulary: 1 << 30}
	count := func(tokens Tokens, err error) int {
		if err != nil {
			t.Fatal(err)
		}
		return len(tokens.Tokens)
	}
	if n := count(tok.words(t.Context(), Doc{Text: "A weir, a weir."})); n != 4 {
		t.Errorf("%d words", n)
	}
	if n := count(tok.symbols(t.Context(), Doc{Text: "f(x, y2) + 1"})); n != 8 {
		t.Errorf("%d symbols", n)
	}
	if n := count(tok.cells(t.Context(), Doc{Text: "a,b\nc,,d\n"})); n != 5 {
		t.Errorf("%d cells", n)
	}
	same, err := tok.words(t.Context(), Doc{Text: "Weir weir, (WEIR)"})
	if err != nil || same.Tokens[0] != same.Tokens[1] || same.Tokens[1] != same.Tokens[2] {
		t.Errorf("one word, several tokens: %v, %v", same, err)
	}
	if d, err := stripLicence(t.Context(), Doc{Text: "// a\n// b\ncode // c\n"}); err != nil || d.Text != "code // c\n" {
		t.Errorf("got %q, %v", d.Text, err)
	}
}
