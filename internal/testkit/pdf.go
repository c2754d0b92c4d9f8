package testkit

import (
	"bytes"
	"fmt"
)

// PDF is a file of objects, the first of which is the catalog. trailer is more of its
// trailer.
func PDF(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	var at []int
	b.WriteString("%PDF-1.5\n")
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, off := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", off)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, trailer, start)
	return b.Bytes()
}

// PDFStream is an object with data, which dict describes.
func PDFStream(dict string, data []byte) string {
	return fmt.Sprintf("<<%s/Length %d>>stream\n%s\nendstream", dict, len(data), data)
}
