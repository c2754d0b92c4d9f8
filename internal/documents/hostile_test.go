package documents_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/internal/documents"
	"dragoman/internal/testkit"
)

// Documents that are made to be expensive. What one costs is counted in bytes that
// are allocated while it is read, with what the collector takes back.
func TestBombs(t *testing.T) {
	testkit.OneGoroutine(t)
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	odf := func(kind, content string) []byte {
		return zipped(t, "mimetype", "application/vnd.oasis.opendocument."+kind, "content.xml", content)
	}
	entries := make([]string, 0, 24_002)
	for i := range 12_001 {
		entries = append(entries, "p"+many("x", i%7)+string(rune('a'+i%26)), "")
	}
	for name, test := range map[string]struct {
		data []byte
		want error
	}{
		"much of nothing":    {zipped(t, "word/document.xml", docxHead+many("<w:p></w:p>", 2<<20)), documents.ErrTooLarge},
		"one huge word":      {zipped(t, "word/document.xml", docxHead+"<w:p><w:r><w:t>"+many("a", 15<<20)), documents.ErrTooLarge},
		"one huge attribute": {zipped(t, "word/document.xml", `<a b="`+many("a", 15<<20)), documents.ErrTooLarge},
		"one huge comment":   {zipped(t, "word/document.xml", `<!--`+many("a", 15<<20)), documents.ErrTooLarge},
		"very deep":          {zipped(t, "word/document.xml", many("<a>", 100_000)), documents.ErrTooLarge},
		"entities": {
			zipped(t, "word/document.xml", `<!DOCTYPE a [<!ENTITY b "`+many("c", 1000)+`"><!ENTITY d "`+many("&b;", 1000)+`">]>`+docxHead+`<w:p><w:r><w:t>&d;</w:t></w:r></w:p>`),
			documents.ErrBroken,
		},
		"a file of this machine": {zipped(t, "word/document.xml", `<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>`+docxHead+`<w:p><w:r><w:t>&b;</w:t></w:r></w:p>`), documents.ErrBroken},
		"many files":             {zipped(t, entries...), documents.ErrTooLarge},
		"cells that repeat": {odf("spreadsheet", `<office:spreadsheet><table:table><table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="16384"><text:p>`+
			many("a", 900_000)+`</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>`), documents.ErrCut},
		"cells of a text that repeat": {odf("text", `<table:table><table:table-row><table:table-cell table:number-columns-repeated="16384"><text:p>`+many("a", 900_000)+`</text:p></table:table-cell></table:table-row></table:table>`), documents.ErrCut},
		"empty cells that repeat": {odf("spreadsheet", `<office:spreadsheet><table:table>`+
			many(`<table:table-row><table:table-cell table:number-columns-repeated="16384"/></table:table-row>`, 2000)+`</table:table></office:spreadsheet>`), nil},
		"far cells":        {workbook(t, "", "", many(`</row><row><c r="XFD1"><v>1</v></c>`, 100_000)), documents.ErrCut},
		"many small words": {zipped(t, "word/document.xml", docxHead+many("<w:p><w:r><w:t>word</w:t></w:r></w:p>", 400_000)+"</w:body></w:document>"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := documents.Read(io.Discard, bytes.NewReader(test.data), int64(len(test.data)), documents.Usual)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, test.want) {
				t.Errorf("the error is %v, want %v", err, test.want)
			}
			cost := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%7d bytes: %d MB were allocated", len(test.data), cost)
			if cost > 250 {
				t.Errorf("%d MB were allocated", cost)
			}
		})
	}
}

func TestLongTextIsCut(t *testing.T) {
	limits := documents.Usual
	limits.Text = 8
	_, text, err := read(t, zipped(t, "word/document.xml", docxHead+`<w:p><w:r><w:t>eight aé</w:t></w:r></w:p><w:p><w:r><w:t>no</w:t></w:r></w:p></w:body></w:document>`), limits)
	if !errors.Is(err, documents.ErrCut) || text != "eight a" {
		t.Errorf("the text is %q, %v", text, err)
	}
}

// A writer that fails ends the reading.
func TestWriterFails(t *testing.T) {
	data, err := os.ReadFile("testdata/report.odt")
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	full := errors.New("the disk is full")
	r.CloseWithError(full)
	if _, err := documents.Read(w, bytes.NewReader(data), int64(len(data)), documents.Usual); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		f.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, text, _ := read(t, data, documents.Usual)
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\r") {
			t.Errorf("the text is %q", text)
		}
	})
}

// FuzzXML reads a part that need not be packed.
func FuzzXML(f *testing.F) {
	parts := []string{"word/document.xml", "content.xml", "xl/workbook.xml", "ppt/presentation.xml", "META-INF/container.xml"}
	f.Add(byte(0), docxHead+`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`)
	f.Add(byte(1), `<text:list><text:h>a</text:h></text:list><table:table-row><table:table-cell/></table:table-row>`)
	f.Add(byte(2), `<sheets><sheet/></sheets>`)
	f.Fuzz(func(t *testing.T, which byte, content string) {
		kind := "application/vnd.oasis.opendocument.text"
		if which%5 == 4 {
			kind = "application/epub+zip"
		}
		data := zipped(t, "mimetype", kind, parts[which%5], content)
		_, text, _ := read(t, data, documents.Usual)
		if !utf8.ValidString(text) {
			t.Errorf("the text is %q", text)
		}
	})
}
