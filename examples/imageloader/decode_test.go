package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// loadFile loads data as a file of that name.
func loadFile(t *testing.T, d *decoder, name string, data []byte) (tensor, error) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, dir, name, data)
	return d.load(t.Context(), filepath.Join(dir, name))
}

func newDecoder(t testing.TB) *decoder {
	t.Helper()
	d, err := openDecoder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAnImageOfOneColourBecomesThreeEvenPlanes(t *testing.T) {
	c := color.NRGBA{204, 102, 51, 255}
	gray := color.Gray16{0x8080}
	for _, tt := range []struct {
		name string
		data []byte
		want [3]float64
	}{
		{"colour.png", pngOf(painted(image.NewNRGBA(image.Rect(0, 0, 9, 7)), c)), [3]float64{0.8, 0.4, 0.2}},
		{"origin elsewhere.png", pngOf(painted(image.NewNRGBA(image.Rect(5, 5, 9, 7)), c)), [3]float64{0.8, 0.4, 0.2}},
		{"one pixel.png", pngOf(painted(image.NewNRGBA(image.Rect(0, 0, 1, 1)), c)), [3]float64{0.8, 0.4, 0.2}},
		{"16 bit.png", pngOf(painted(image.NewNRGBA64(image.Rect(0, 0, 9, 7)), c)), [3]float64{0.8, 0.4, 0.2}},
		{"16 bit gray.png", pngOf(painted(image.NewGray16(image.Rect(0, 0, 9, 7)), gray)), [3]float64{128. / 255, 128. / 255, 128. / 255}},
		{"half transparent counts as half black.png", pngOf(painted(image.NewNRGBA(image.Rect(0, 0, 9, 7)), color.NRGBA{255, 0, 255, 51})), [3]float64{0.2, 0, 0.2}},
		{"windows.bmp", bmpOf(painted(image.NewNRGBA(image.Rect(0, 0, 9, 7)), c)), [3]float64{0.8, 0.4, 0.2}},
		{"animated.gif", gifOf(painted(image.NewNRGBA(image.Rect(0, 0, 9, 9)), color.White)), [3]float64{1, 1, 1}},
		{"web.webp", webpOf(300, 500, c), [3]float64{0.8, 0.4, 0.2}},
		{"photo.jpeg", jpegOf(painted(image.NewNRGBA(image.Rect(0, 0, 64, 64)), color.White)), [3]float64{1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := loadFile(t, newDecoder(t), tt.name, tt.data)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(got.Path) != tt.name || len(got.CHW) != 3*224*224 {
				t.Fatalf("%d numbers of %s", len(got.CHW), got.Path)
			}
			for c, want := range tt.want {
				for i, v := range got.CHW[c*224*224 : (c+1)*224*224] {
					if math.Abs(float64(v)-want) > 1e-6 {
						t.Fatalf("channel %d, pixel %d: %v, want %v", c, i, v, want)
					}
				}
			}
		})
	}
}

func TestRowsOfATensorAreRowsOfTheImage(t *testing.T) {
	m := painted(image.NewNRGBA(image.Rect(0, 0, 448, 448)), color.Black)
	for x := range 448 {
		for y := range 112 {
			m.Set(x, y, color.NRGBA{255, 0, 0, 255}) // the upper quarter
		}
	}
	got, err := loadFile(t, newDecoder(t), "top.png", pngOf(m))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []struct {
		row, column int
		want        float32
	}{{0, 0, 1}, {0, 223, 1}, {54, 223, 1}, {58, 0, 0}, {223, 0, 0}} {
		if v := got.CHW[at.row*224+at.column]; v != at.want {
			t.Errorf("row %d, column %d: %v, want %v", at.row, at.column, v, at.want)
		}
	}
}

func TestNothingOfAnImageIsLeftInTheNext(t *testing.T) {
	images := goodImages()
	used := newDecoder(t)
	for name, data := range images {
		fresh, err := loadFile(t, newDecoder(t), filepath.Base(name), data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := loadFile(t, used, filepath.Base(name), data)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.CHW, fresh.CHW) {
			t.Errorf("%s differs in a decoder that was used before", name)
		}
		// A failure in between leaves nothing either.
		if _, err := loadFile(t, used, "bad.png", data[:len(data)/2]); err == nil && !strings.HasSuffix(name, ".gif") {
			t.Errorf("half of %s was loaded", name)
		}
	}
}

func TestADecoderRefusesWhatItCannotHold(t *testing.T) {
	for _, tt := range []struct {
		width, height int
		refused       bool
	}{
		{1, 1, false}, {8000, 8000, false}, {32_768, 1, false}, {0, 5, true}, {5, -1, true},
		{8001, 8000, true}, {32_769, 1, true}, {1, 32_769, true}, {math.MaxInt, math.MaxInt, true},
	} {
		t.Run(fmt.Sprintf("%d x %d", tt.width, tt.height), func(t *testing.T) {
			if err := checkSize(tt.width, tt.height); (err != nil) != tt.refused {
				t.Errorf("error %v, want one: %v", err, tt.refused)
			}
		})
	}
	// The size is looked at before memory is asked for.
	data := pngHeader(60_000, 60_000)
	d := newDecoder(t)
	n := bytesPerRun(func() {
		if _, err := d.decode(bytes.NewReader(data)); err == nil {
			t.Error("a bomb went off")
		}
	})
	if n > 64<<10 {
		t.Errorf("refusing takes %d bytes", n)
	}
}

func TestAPanicOfADecoderNamesTheFile(t *testing.T) {
	defer func() {
		if s := fmt.Sprint(recover()); !strings.Contains(s, "colour.png: ") {
			t.Errorf("panic %q", s)
		}
	}()
	d := newDecoder(t)
	d.small = nil
	loadFile(t, d, "colour.png", goodImages()["colour.png"])
}

func TestLoadingAllocatesTheTensorAndWhatTheDecoderNeeds(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.png", pngOf(painted(image.NewNRGBA(image.Rect(0, 0, 16, 16)))))
	d := newDecoder(t)
	n := bytesPerRun(func() {
		if _, err := d.load(t.Context(), filepath.Join(dir, "a.png")); err != nil {
			t.Error(err)
		}
	})
	// The tensor has 588 KiB; the buffers of this package, 260 KiB and the resizer's, are not made again.
	if n > 720<<10 {
		t.Errorf("%d bytes for an image, want not much more than the tensor's %d", n, 3*224*224*4)
	}
}

// bytesPerRun is how much f allocates, once it has run.
func bytesPerRun(f func()) uint64 {
	const runs = 20
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / runs
}
