package documents_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"dragoman/internal/documents"
)

// popplerSays is a poppler that answers this of each program.
func popplerSays(answers map[string]documents.Poppled) documents.Poppler {
	return func(_ context.Context, name string, args []string, _ int) (documents.Poppled, error) {
		if i := slices.Index(args, "-f"); i >= 0 {
			name += " " + args[i+1]
		}
		return answers[name], nil
	}
}

func TestPDF(t *testing.T) {
	const missing = "\n[The rest needs more time or memory than a document may, or is damaged.]\n"
	for name, test := range map[string]struct {
		got        documents.Poppled
		text, fail string
	}{
		"pages":               {documents.Poppled{Out: []byte("   One          page\n\n\n two \x1b[31mred\n\fSecond page here\n\f")}, "[page 1]\nOne   page\n\ntwo [31mred\n\n[page 2]\nSecond page here\n", ""},
		"a page of a picture": {documents.Poppled{Out: []byte("Words of a page\n\f\f 12\f")}, "[page 1]\nWords of a page\n\n[page 3]\n12\n\n[Pages without text, perhaps pictures: 2, 3.]\n", ""},
		"what took too long":  {documents.Poppled{Out: []byte("Words of a page\n\fand"), Code: -1}, "[page 1]\nWords of a page\n\n[page 2]\nand\n\n[Pages without text, perhaps pictures: 2.]\n" + missing, ""},
		"broken bytes":        {documents.Poppled{Out: []byte("Words \xff of a page\n\f")}, "[page 1]\nWords  of a page\n", ""},
		"a scan":              {documents.Poppled{Out: []byte("\f\f")}, "", "is a PDF of 2 pages without text"},
		"a locked one":        {documents.Poppled{Said: "Command Line Error: Incorrect password\n", Code: 1}, "", "is protected by a password"},
		"a damaged one":       {documents.Poppled{Said: "Syntax Error: Couldn't find trailer dictionary\n", Code: 1}, "", "is damaged"},
		"a copyright":         {documents.Poppled{Said: "Copying of text from this document is not allowed.", Code: 3}, "", "does not allow"},
		"a bomb":              {documents.Poppled{Code: -1}, "", "cannot be read: it needs more memory or time"},
		"no pages":            {documents.Poppled{}, "", "is a PDF without pages"},
	} {
		text, err := documents.PDF(t.Context(), popplerSays(map[string]documents.Poppled{"pdftotext": test.got}))
		sentence, said := errors.AsType[documents.Sentence](err)
		if text != test.text || said != (test.fail != "") || !strings.HasPrefix(string(sentence), test.fail) {
			t.Errorf("%s: %q, %v\nwant %q, %q", name, text, err, test.text, test.fail)
		}
	}
	long := documents.Poppled{Out: []byte(strings.Repeat("A page with words\n\f", documents.MostPDFPages+1))}
	text, err := documents.PDF(t.Context(), popplerSays(map[string]documents.Poppled{"pdftotext": long}))
	if err != nil || !strings.HasSuffix(text, "\n[page 1000]\nA page with words\n\n[The document goes on; its first 1000 pages are here.]\n") {
		t.Errorf("a book ends with %q, %v", text[max(0, len(text)-200):], err)
	}
	long.Out = []byte(strings.Repeat("A page with words\n", 300_000))
	text, err = documents.PDF(t.Context(), popplerSays(map[string]documents.Poppled{"pdftotext": long}))
	if err != nil || !strings.HasSuffix(text, "\n[The document goes on; its first 4 MB of text are here.]\n") || len(text) > 5<<20 {
		t.Errorf("a long page has %d bytes and ends with %q, %v", len(text), text[max(0, len(text)-200):], err)
	}
	none := errors.New("no program runs here")
	_, err = documents.PDF(t.Context(), func(context.Context, string, []string, int) (documents.Poppled, error) {
		return documents.Poppled{}, none
	})
	if !errors.Is(err, none) {
		t.Errorf("without poppler: %v", err)
	}
}

func TestIsPDF(t *testing.T) {
	const begin = "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"
	for head, want := range map[string]bool{
		"%PDF-1.7\n": true, "\xef\xbb\xbf%PDF-1.4": true, "\r\n %PDF-2.0": true, "A PDF begins with %PDF-": false, "": false,
		"Content-Type: application/pdf\r\n\r\n" + begin:      true,
		"\x1b%-12345X@PJL ENTER LANGUAGE=PDF\n" + begin:      true,
		strings.Repeat("a line\n", 100) + begin:              true,
		strings.Repeat("a line\n", 200) + begin:              false,
		"a line before " + begin:                             false,
		"So it looks:\n%PDF-1.4\n1 0 obj\n":                  false,
		"So it looks:\n%PDF-1.4\n" + strings.Repeat("ü", 99): false,
		"So it looks:\n%PDF-1.4\nü"[:23]:                     false,
	} {
		if documents.IsPDF([]byte(head)) != want || documents.Is([]byte(head)) != want {
			t.Errorf("IsPDF(%q) is not %v", head, want)
		}
	}
}

// Whatever pdftotext writes, its text can be shown.
func FuzzPDF(f *testing.F) {
	f.Add([]byte("  One   page\f\f12\x00\x1b[31m\xff"), 0)
	f.Fuzz(func(t *testing.T, out []byte, code int) {
		text, err := documents.PDF(t.Context(), popplerSays(map[string]documents.Poppled{"pdftotext": {Out: out, Code: code}}))
		if err == nil && strings.ContainsAny(text, "\x00\x1b\r\f") {
			t.Errorf("the text is %q", text)
		}
	})
}
