package tokens

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// WriteShards makes up shards of so many documents each, and returns their paths. Every twentieth document is the one
// before it once more, which a real corpus has as well.
func WriteShards(dir string, shards, docs int) (paths []string, err error) {
	for i := range shards {
		path := filepath.Join(dir, fmt.Sprintf("%03d.json", i))
		if err := writeShard(path, i*docs, docs); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func writeShard(path string, first, docs int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := json.NewEncoder(f)
	for n := first; n < first+docs; n++ {
		d := makeDoc(n)
		if n%20 == 19 {
			d = makeDoc(n - 1)
		}
		if err := out.Encode(d); err != nil {
			return err
		}
	}
	return nil
}

// makeDoc makes up the n-th document. It is always the same.
func makeDoc(n int) Doc {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	words := make([]string, 20+r.IntN(60))
	for i := range words {
		words[i] = fmt.Sprint("w", r.IntN(1000))
	}
	d := Doc{ID: fmt.Sprintf("doc-%05d", n)}
	switch n % 5 {
	case 0:
		d.Kind, d.Text = "code", "// Licence: none.\n"+strings.Join(words, "() + ")
	case 1:
		d.Kind, d.Text = "table", strings.Join(words[:10], ",")+"\n"+strings.Join(words[10:20], ",")+"\n"
	default:
		d.Kind, d.Text = "prose", strings.Join(words, " ")+"."
	}
	return d
}
