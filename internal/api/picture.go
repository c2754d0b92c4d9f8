package api

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// Picture is a QR code to draw: the dark modules as the path of an SVG, one unit for each
// module, without the light border of four modules that scanners need.
type Picture struct {
	// Size is how many modules it has in each direction.
	Size int    `json:"size"`
	Path string `json:"path"`
}

// draw draws one rectangle for each run of dark modules in a row. Nil: the text is too long
// for a code.
func draw(text string) *Picture {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return nil // whoever shows it says so; the text is there, too
	}
	var b strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; {
			run := 0
			for code.Black(x+run, y) { // modules outside are light
				run++
			}
			if run > 0 {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", x, y, run, run)
			}
			x += run + 1
		}
	}
	return &Picture{code.Size, b.String()}
}
