package main

import (
	"bytes"
	"fmt"
	"image"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/draw"
)

// A reference is what a plain loop finds. It adds up whole numbers, so it has no rounding to be compared with.
type reference struct {
	delivered, failed int64
	mean, std         [3]float64
}

// sequential looks at the files one after the other, without the pipeline and its functions.
func sequential(t *testing.T, dir string) (ref reference) {
	t.Helper()
	var sum, squares [3]uint64
	var pixels uint64
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.Contains(" .jpg .jpeg .png .gif .webp .bmp ", " "+strings.ToLower(filepath.Ext(path))+" ") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		small := image.NewRGBA(image.Rect(0, 0, 224, 224))
		if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err != nil || c.Width*c.Height > 10_000_000 || c.Height > 30_000 {
			ref.failed++
			return nil
		}
		img, _, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			ref.failed++
			return nil
		}
		draw.BiLinear.Scale(small, small.Bounds(), img, img.Bounds(), draw.Src, nil)
		for i, v := range small.Pix {
			if c := i % 4; c < 3 { // the fourth is alpha
				sum[c] += uint64(v)
				squares[c] += uint64(v) * uint64(v)
			}
		}
		pixels += 224 * 224
		ref.delivered++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for c := range 3 {
		n := float64(pixels)
		mean := float64(sum[c]) / n
		ref.mean[c] = mean / 255
		ref.std[c] = math.Sqrt(float64(squares[c])/n-mean*mean) / 255
	}
	return ref
}

func (ref reference) compare(t *testing.T, s summary, epochs int) {
	t.Helper()
	if s.Delivered != ref.delivered*int64(epochs) || s.Failed != ref.failed*int64(epochs) || s.Filtered != 0 {
		t.Errorf("delivered %d, failed %d, filtered %d, want %d, %d and 0", s.Delivered, s.Failed, s.Filtered, ref.delivered*int64(epochs), ref.failed*int64(epochs))
	}
	if s.Mean == nil || s.Std == nil {
		t.Fatalf("mean %v, std %v", s.Mean, s.Std)
	}
	for c := range 3 {
		if math.Abs(s.Mean[c]-ref.mean[c]) > 1e-4 || math.Abs(s.Std[c]-ref.std[c]) > 1e-4 {
			t.Errorf("channel %d: mean %v, std %v, want %v and %v", c, s.Mean[c], s.Std[c], ref.mean[c], ref.std[c])
		}
	}
}

func TestMeanAndDeviationAreThoseOfAPlainLoop(t *testing.T) {
	dir := t.TempDir()
	writeGoodImages(t, dir)
	bad := writeBadImages(t, dir)
	ref := sequential(t, dir)
	if ref.failed != int64(bad) {
		t.Fatalf("the plain loop failed on %d files, want %d", ref.failed, bad)
	}
	for _, tt := range []struct {
		workers, batch, epochs int
		ordered                bool
	}{
		{workers: 1, batch: 1, epochs: 1},
		{workers: 4, batch: 5, epochs: 2},
		{workers: 16, batch: 32, epochs: 1},
		{workers: 1, batch: 32, epochs: 2, ordered: true},
		{workers: 4, batch: 1, epochs: 1, ordered: true},
		{workers: 16, batch: 5, epochs: 2, ordered: true},
	} {
		t.Run(fmt.Sprintf("%d workers, ordered %v, batches of %d, %d epochs", tt.workers, tt.ordered, tt.batch, tt.epochs), func(t *testing.T) {
			s := executeJSON(t, "-dir", dir, "-workers", itoa(tt.workers), fmt.Sprintf("-ordered=%v", tt.ordered),
				"-batch", itoa(tt.batch), "-epochs", itoa(tt.epochs), "-skip-errors", itoa(bad*tt.epochs))
			ref.compare(t, s, tt.epochs)
			if per := (ref.delivered + int64(tt.batch) - 1) / int64(tt.batch); s.Batches != per*int64(tt.epochs) {
				t.Errorf("%d batches, want %d in each epoch: no batch has images of two", s.Batches, per)
			}
		})
	}
}

func TestTheImagesOfTheGoInstallationAreLoadedWithoutFlags(t *testing.T) {
	dir, err := goImages(t.Context())
	if err != nil {
		t.Skip(err)
	}
	ref := sequential(t, dir)
	if ref.delivered < 50 || ref.failed < 1 {
		t.Fatalf("%d images and %d broken ones in %s: not the images of Go", ref.delivered, ref.failed, dir)
	}
	ref.compare(t, executeJSON(t), 1)
}

func TestMomentsDoNotDependOnOrderOrOffset(t *testing.T) {
	// Far from zero, where a sum of squares in float32 has nothing left of the deviation.
	const far = 10_000
	images := [][]float32{{far, far + 1, 1, 2, 0, 0}, {far + 2, far + 3, 3, 4, 0, 0}, {far + 4, far + 5, 5, 6, 0, 0}}
	var forth, back moments
	for i := range images {
		forth.add(images[i])
		back.add(images[len(images)-1-i])
	}
	std := math.Sqrt(35.0 / 12) // of six numbers in a row
	for name, m := range map[string]moments{"forth": forth, "back": back} {
		for c, want := range [3][2]float64{{far + 2.5, std}, {3.5, std}, {0, 0}} {
			if got := m.std(); math.Abs(m.mean[c]-want[0]) > 1e-9 || math.Abs(got[c]-want[1]) > 1e-9 {
				t.Errorf("%s, channel %d: mean %v, std %v, want %v", name, c, m.mean[c], got[c], want)
			}
		}
	}
}
