package deadletter_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/weirflow/weir/stages"
	"github.com/weirflow/weir/stages/deadletter"
)

// A stage that may fail for a hundred items keeps them in a file. Deploy opens it, and fails if that cannot be done.
func ExampleFile() {
	var numbers = stages.Define("numbers", func(g *stages.Graph, path string) stages.Stream[int] {
		words := stages.Source(g, "words", stages.FromSlice([]string{"1", "two"}))
		return stages.Map(words, "parse", func(_ context.Context, s string) (int, error) { return strconv.Atoi(s) },
			stages.OnError(stages.DeadLetter(deadletter.File(path), 100)))
	})
	_ = numbers
}

func ExampleRead() {
	dir, err := os.MkdirTemp("", "letters")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "failed.jsonl")

	// This is what a run does with an item that has failed for good.
	w, err := deadletter.File(path).OpenLetters(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	err = w.Write(context.Background(), stages.Letter{
		Pipeline: "numbers", Stage: "parse", Item: stages.ID{Source: "words", Index: 1},
		Attempts: 1, Errors: []string{`strconv.Atoi: parsing "two": invalid syntax`, "invalid syntax"}, Codec: "raw", Payload: []byte("two"),
	})
	if err == nil {
		err = w.Sync()
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	for letter, err := range deadletter.Read(path) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s failed in %s: %s\n", letter.Item, letter.Stage, letter.Errors[0])
		fmt.Printf("%s: %q\n", letter.Codec, letter.Payload)
	}
	// Output:
	// words/0/1 failed in parse: strconv.Atoi: parsing "two": invalid syntax
	// raw: "two"
}
