package documents

import (
	"bytes"
	"context"
	"fmt"
)

const (
	// ScanSeconds of the processor are enough for a look at a few pages. It happens before
	// anybody has asked for them.
	ScanSeconds = 3
	// MostScans is how many pages without text are shown as pictures.
	MostScans = 5
	// MostPicture is how many bytes such a picture has at most, and pictureSide its longer
	// side in pixels: more than that is scaled down by models.
	MostPicture = 2 << 20
	pictureSide = 1568
)

// Scans returns pictures (JPEG) of the first pages of a PDF that is a scan, and what page
// each shows. There are none if most of these pages have text.
func Scans(ctx context.Context, run Poppler) (pages []int, pictures [][]byte, err error) {
	texts, _, err := pdfPages(ctx, run, MostScans)
	if err != nil {
		return nil, nil, err
	}
	for i, text := range texts {
		if !hasText(text) {
			pages = append(pages, i+1)
		}
	}
	if 2*len(pages) <= len(texts) {
		return nil, nil, nil
	}
	for i, page := range pages {
		n := fmt.Sprint(page)
		got, err := run(ctx, "pdftoppm", []string{"-q", "-f", n, "-l", n, "-singlefile", "-scale-to", fmt.Sprint(pictureSide), "-jpeg", "-jpegopt", "quality=75", "-"}, MostPicture)
		if err != nil {
			return nil, nil, err
		}
		if got.Code != 0 || !bytes.HasPrefix(got.Out, []byte("\xff\xd8\xff")) {
			return pages[:i], pictures, nil // those before it are good
		}
		pictures = append(pictures, got.Out)
	}
	return pages, pictures, nil
}
