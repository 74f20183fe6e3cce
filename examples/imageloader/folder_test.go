package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
)

func writeFile(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// goodImages are images of every format and of the kinds that decoders treat differently, by file name.
var goodImages = sync.OnceValue(func() map[string][]byte {
	rgb := painted(image.NewNRGBA(image.Rect(0, 0, 60, 40)))
	return map[string][]byte{
		"colour.jpg":            jpegOf(rgb),
		"gray.JPEG":             jpegOf(painted(image.NewGray(image.Rect(0, 0, 33, 57)))),
		"colour.png":            pngOf(rgb),
		"transparent.png":       pngOf(painted(image.NewNRGBA(image.Rect(0, 0, 20, 20)), color.NRGBA{200, 100, 50, 90})),
		"gray.png":              pngOf(painted(image.NewGray(image.Rect(0, 0, 40, 30)))),
		"16 bit.png":            pngOf(painted(image.NewNRGBA64(image.Rect(0, 0, 25, 35)))),
		"16 bit gray.png":       pngOf(painted(image.NewGray16(image.Rect(0, 0, 25, 35)))),
		"one pixel.png":         pngOf(painted(image.NewNRGBA(image.Rect(0, 0, 1, 1)))),
		"one row.png":           pngOf(painted(image.NewNRGBA(image.Rect(0, 0, 500, 1)))),
		"large.png":             pngOf(painted(image.NewGray(image.Rect(0, 0, 400, 300)))),
		"paletted.gif":          gifOf(rgb),
		"deep/down/windows.BMP": bmpOf(rgb),
		"web.webp":              webpOf(70, 30, color.NRGBA{10, 200, 60, 255}),
		"deep/a png.jpg":        pngOf(rgb), // its name lies
	}
})

// badImages are files that fail, and why, by file name.
func badImages() map[string]struct {
	data  []byte
	cause string
} {
	whole := pngOf(painted(image.NewNRGBA(image.Rect(0, 0, 60, 40))))
	corrupt := bytes.Clone(whole)
	corrupt[len(corrupt)/2] ^= 0xff
	return map[string]struct {
		data  []byte
		cause string
	}{
		"corrupt.png":   {corrupt, "png: invalid format: "},
		"truncated.png": {whole[:len(whole)/2], "png: invalid format: "},
		"empty.gif":     {nil, "file is empty"},
		"text.jpg":      {[]byte("this is not an image\n"), "image: unknown format"},
		"bomb.png":      {pngHeader(60_000, 60_000), "image of 60000 x 60000 pixels is too large: at most 64 megapixels and 32768 pixels a side"},
		"tower.png":     {pngHeader(1, 32_769), "image of 1 x 32769 pixels is too large"},
		"cut/short.bmp": {bmpOf(painted(image.NewNRGBA(image.Rect(0, 0, 9, 9))))[:40], "unexpected EOF"},
	}
}

func writeGoodImages(t testing.TB, dir string) (n int) {
	t.Helper()
	for name, data := range goodImages() {
		writeFile(t, dir, name, data)
	}
	// None of these is an image, and none may fail.
	writeFile(t, dir, "README.txt", []byte("no image"))
	writeFile(t, dir, "jpg", []byte("no image"))
	writeFile(t, dir, "folder.jpg/notes.md", []byte("no image"))
	return len(goodImages())
}

func writeBadImages(t testing.TB, dir string) (n int) {
	t.Helper()
	for name, bad := range badImages() {
		writeFile(t, dir, name, bad.data)
	}
	return len(badImages())
}

// painted fills m with a pattern, or with one colour.
func painted(m draw.Image, one ...color.Color) draw.Image {
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if len(one) > 0 {
				m.Set(x, y, one[0])
			} else {
				m.Set(x, y, color.NRGBA64{uint16(x * 2111), uint16(y*1777 + 9000), uint16((x + y) * 997), 0xffff})
			}
		}
	}
	return m
}

func encoded(encode func(*bytes.Buffer) error) []byte {
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func jpegOf(m image.Image) []byte {
	return encoded(func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) })
}

func pngOf(m image.Image) []byte {
	return encoded(func(b *bytes.Buffer) error { return png.Encode(b, m) })
}

func bmpOf(m image.Image) []byte {
	return encoded(func(b *bytes.Buffer) error { return bmp.Encode(b, m) })
}

// gifOf has a second frame, of which nothing may be seen.
func gifOf(m image.Image) []byte {
	first := image.NewPaletted(m.Bounds(), palette.Plan9)
	draw.FloydSteinberg.Draw(first, first.Rect, m, m.Bounds().Min)
	second := image.NewPaletted(image.Rect(3, 3, 9, 9), palette.Plan9)
	return encoded(func(b *bytes.Buffer) error {
		return gif.EncodeAll(b, &gif.GIF{Image: []*image.Paletted{first, second}, Delay: []int{0, 0}})
	})
}

// pngHeader is the beginning of an image that claims its size in 33 bytes.
func pngHeader(width, height uint32) []byte {
	chunk := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	chunk = append(binary.BigEndian.AppendUint32(chunk, height), 8, 2, 0, 0, 0) // 8 bit RGB
	head := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), chunk...)
	return binary.BigEndian.AppendUint32(head, crc32.ChecksumIEEE(chunk))
}

// webpOf is a lossless WebP file of one colour: five prefix codes of one symbol each, and no bits for the pixels
// (RFC 9649, 3.8).
func webpOf(width, height uint32, c color.NRGBA) []byte {
	var bits []byte // one per element, least significant first
	put := func(v uint32, n int) {
		for i := range n {
			bits = append(bits, byte(v>>i&1))
		}
	}
	put(0x2f, 8) // the signature
	put(width-1, 14)
	put(height-1, 14)
	put(0, 1+3) // the alpha hint, the version
	put(0, 1)   // no transform
	put(0, 1)   // no colour cache
	put(0, 1)   // one set of prefix codes for the whole image
	for _, symbol := range []uint8{c.G, c.R, c.B, c.A} {
		put(0b101, 3) // a simple code, of one symbol, of 8 bits
		put(uint32(symbol), 8)
	}
	put(0b0001, 4) // distances: a simple code, of one symbol, of 1 bit: 0
	data := make([]byte, (len(bits)+15)/16*2)
	for i, b := range bits {
		data[i/8] |= b << (i % 8)
	}
	file := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(12+len(data)))
	file = binary.LittleEndian.AppendUint32(append(file, "WEBPVP8L"...), uint32(len(data)))
	return append(file, data...)
}
