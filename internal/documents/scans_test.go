package documents_test

import (
	"slices"
	"testing"

	"dragoman/internal/documents"
)

// Pages are shown where most of the first ones have no text.
func TestScans(t *testing.T) {
	jpeg := documents.Poppled{Out: []byte("\xff\xd8\xff\xe0 a page")}
	for name, test := range map[string]struct {
		text string
		more map[string]documents.Poppled
		want []int
	}{
		"a scan":               {"\f\f\f", map[string]documents.Poppled{"pdftoppm 1": jpeg, "pdftoppm 2": jpeg, "pdftoppm 3": jpeg}, []int{1, 2, 3}},
		"a letter with a scan": {"Words of a page\f\f\f", map[string]documents.Poppled{"pdftoppm 2": jpeg, "pdftoppm 3": jpeg}, []int{2, 3}},
		"a text":               {"Words of a page\fWords of a page\f\f", nil, nil},
		"half a scan":          {"\f\f", map[string]documents.Poppled{"pdftoppm 1": jpeg, "pdftoppm 2": {Code: -1}}, []int{1}},
		"not a picture":        {"\f", map[string]documents.Poppled{"pdftoppm 1": {Out: []byte("<html>")}}, []int{}},
	} {
		answers := map[string]documents.Poppled{"pdftotext": {Out: []byte(test.text)}}
		for name, a := range test.more {
			answers[name] = a
		}
		pages, pictures, err := documents.Scans(t.Context(), popplerSays(answers))
		if err != nil || !slices.Equal(pages, test.want) || len(pages) != len(pictures) {
			t.Errorf("%s: pages %v, %d pictures, %v; want %v", name, pages, len(pictures), err, test.want)
		}
	}
}
