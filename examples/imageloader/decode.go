package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"

	_ "golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

const (
	side = 224 // of a tensor, in pixels

	// A few bytes of a file can ask for any amount of memory. These are more than cameras make: 64 megapixels are
	// 256 MiB once decoded, and the resizer keeps 224 x 32 bytes for each row of the original.
	maxPixels = 64_000_000
	maxSide   = 32_768
)

var errEmpty = errors.New("file is empty")

// A decoder is what one worker keeps from image to image. It is owned by that worker.
type decoder struct {
	in    *bufio.Reader
	small *image.RGBA // the resized image
	scale draw.Scaler // from images of size from
	from  image.Point
}

func openDecoder(context.Context) (*decoder, error) {
	return &decoder{in: bufio.NewReaderSize(nil, 64<<10), small: image.NewRGBA(image.Rect(0, 0, side, side))}, nil
}

// load reads the image file at path. Its errors name the file, and so do its panics: the decoders are given whatever
// people put into files.
func (d *decoder) load(ctx context.Context, path string) (tensor, error) {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("%s: %v", path, p))
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return tensor{}, err // names the file
	}
	defer f.Close()
	img, err := d.decode(f)
	if err != nil {
		return tensor{}, fmt.Errorf("%s: %w", path, err)
	}
	if ctx.Err() != nil {
		return tensor{}, ctx.Err() // nobody waits for the rest
	}
	d.resize(img)
	return tensor{path, normalise(d.small)}, nil
}

// decode looks at the size of the image before it decodes it.
func (d *decoder) decode(f io.ReadSeeker) (image.Image, error) {
	d.in.Reset(f)
	defer d.in.Reset(nil)
	if _, err := d.in.Peek(1); err == io.EOF {
		return nil, errEmpty
	} else if err != nil {
		return nil, err // DecodeConfig would say that it does not know the format
	}
	head, _, err := image.DecodeConfig(d.in)
	if err != nil {
		return nil, err
	}
	if err := checkSize(head.Width, head.Height); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	d.in.Reset(f)
	img, _, err := image.Decode(d.in)
	if err != nil {
		return nil, err
	}
	// A frame of an animation may be smaller than the whole, and even empty.
	return img, checkSize(img.Bounds().Dx(), img.Bounds().Dy())
}

func checkSize(width, height int) error {
	switch {
	case width < 1 || height < 1:
		return fmt.Errorf("image of %d x %d pixels is empty", width, height)
	case width > maxSide || height > maxSide || width*height > maxPixels:
		return fmt.Errorf("image of %d x %d pixels is too large: at most %d megapixels and %d pixels a side",
			width, height, maxPixels/1_000_000, maxSide)
	}
	return nil
}

// resize draws img into d.small, whose every pixel it sets. Folders tend to have many images of one size: the weights
// for the last one are kept.
func (d *decoder) resize(img image.Image) {
	if size := img.Bounds().Size(); d.from != size {
		d.scale, d.from = draw.BiLinear.NewScaler(side, side, size.X, size.Y), size
	}
	d.scale.Scale(d.small, d.small.Rect, img, img.Bounds(), draw.Src, nil)
}

// normalise splits the pixels of a 224 x 224 image into planes of their own, which are the receiver's to keep.
func normalise(img *image.RGBA) []float32 {
	const plane = side * side
	chw := make([]float32, 3*plane)
	red, green, blue := chw[:plane], chw[plane:2*plane], chw[2*plane:]
	for i := range plane {
		p := img.Pix[4*i : 4*i+3]
		red[i], green[i], blue[i] = float32(p[0])/255, float32(p[1])/255, float32(p[2])/255
	}
	return chw
}
