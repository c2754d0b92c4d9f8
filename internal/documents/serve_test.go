package documents_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"dragoman/internal/documents"
)

func TestServeSaysWhy(t *testing.T) {
	office, err := os.ReadFile("testdata/report.odt")
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	for name, test := range map[string]struct {
		in         io.Reader
		text, fail string
	}{
		"a document":      {bytes.NewReader(office), "# The garden in spring\n", ""},
		"an archive":      {bytes.NewReader(zipped(t, "a.txt", "a")), "", "is no document that can be read"},
		"a torn document": {bytes.NewReader(zipped(t, "word/document.xml", docxHead+`<w:p><w:r><w:t>begun</w:t></w:r></w:p><w:p>`+"<")), "begun\n\n[The rest is damaged, and cannot be read.]\n", ""},
		"a long one":      {bytes.NewReader(zipped(t, "word/document.xml", docxHead+strings.Repeat(`<w:p><w:r><w:t>`+strings.Repeat("word ", 1000)+`</w:t></w:r></w:p>`, 900))), "[The document goes on; its first 4 MB of text are here.]", ""},
		"too many bytes":  {io.LimitReader(zeros{}, documents.MostBytes+1), "", "has more than 64 MB"},
		"a broken disk":   {iotest.ErrReader(gone), "", "cannot be read just now (gone)"},
	} {
		var out bytes.Buffer
		err := documents.Serve(test.in, &out)
		failed := test.fail == "" && err == nil || test.fail != "" && err != nil && strings.HasPrefix(err.Error(), test.fail)
		if !failed || !strings.Contains(out.String(), test.text) || test.text == "" && out.Len() > 0 {
			t.Errorf("%s: %d bytes of text that end with %q, and %v", name, out.Len(), out.String()[max(out.Len()-80, 0):], err)
		}
	}
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
