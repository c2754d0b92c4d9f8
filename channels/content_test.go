package channels_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
)

func contentType(data string) string {
	return channels.ContentType(data[:min(len(data), channels.ContentHead)], data[max(0, len(data)-channels.ContentTail):])
}

// Files of an office suite are known by what is in them.
func TestContentType(t *testing.T) {
	const office, open = "application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument."
	for name, want := range map[string]string{
		"report.docx": office + "wordprocessingml.document",
		"sheet.xlsx":  office + "spreadsheetml.sheet",
		"slides.pptx": office + "presentationml.presentation",
		"report.odt":  open + "text",
		"sheet.ods":   open + "spreadsheet",
		"slides.odp":  open + "presentation",
	} {
		data, err := os.ReadFile(filepath.Join("..", "internal", "documents", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := contentType(string(data)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	header := "PK\x03\x04" + strings.Repeat("\x00", 14) + "\x14\x00\x00\x00\x14\x00\x00\x00\x08\x00\x00\x00mimetype"
	for data, want := range map[string]string{
		"":                                  "text/plain; charset=utf-8",
		"# A note":                          "text/plain; charset=utf-8",
		"%PDF-1.7":                          "application/pdf",
		"PK\x03\x04":                        "application/zip",
		"PK\x03\x04 word/document.xml":      "application/zip",
		header:                              "application/zip",
		header + "application/epub+zipPK":   "application/epub+zip",
		header + "text/html<script>alert()": "application/zip",
		strings.Replace(header, "\x14", "\x40", 2) + open + "text;evil=1\r\nx: y": "application/zip",
	} {
		if got := contentType(data); got != want {
			t.Errorf("%q is %q, want %q", data, got, want)
		}
	}
}

func FuzzContentType(f *testing.F) {
	f.Add("PK\x03\x04")
	f.Add("PK\x03\x04" + strings.Repeat("\x00", 26) + "mimetypeapplication/epub+zip")
	f.Fuzz(func(t *testing.T, data string) {
		if got := contentType(data); got == "" || strings.ContainsAny(got, "\r\n\x00") {
			t.Errorf("%q is %q", data, got)
		}
	})
}
