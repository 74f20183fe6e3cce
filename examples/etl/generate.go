package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// writeFiles makes up files of so many lines each. Of every hundred lines the last is broken, and of every ten rows the
// first is not valid.
func writeFiles(dir string, files, lines int) error {
	for i := range files {
		if err := writeFile(filepath.Join(dir, fmt.Sprintf("%02d.jsonl", i)), int64(i*lines), lines); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, first int64, lines int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriter(f)
	cities := []string{"Cork", "Delft", "Lyon"}
	for id := first; id < first+int64(lines); id++ {
		if id%100 == 99 {
			fmt.Fprintf(w, "{\"ID\": %d, \"City\": \n", id)
			continue
		}
		data, err := json.Marshal(Row{ID: id, City: cities[id%3], Valid: id%10 != 0})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", data)
	}
	return w.Flush()
}
