package documents_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/documents"

	"github.com/google/go-cmp/cmp"
)

// renamed gives parts of a document other names, in the lists that name them too.
func renamed(t testing.TB, data []byte, names map[string]string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name, content := f.Name, string(text)
		for was, is := range names {
			if f.Name == was {
				name = is
			}
			if f.Name == path.Join(path.Dir(was), "_rels", path.Base(was)+".rels") {
				name = path.Join(path.Dir(is), "_rels", path.Base(is)+".rels")
				content = strings.ReplaceAll(content, `Target="`, `Target="/`+path.Dir(was)+`/`)
			}
		}
		if strings.HasSuffix(name, ".rels") || name == "[Content_Types].xml" {
			for was, is := range names {
				content = strings.NewReplacer(`"/`+was+`"`, `"/`+is+`"`, `"`+was+`"`, `"`+is+`"`).Replace(content)
			}
		}
		parts = append(parts, name, content)
	}
	return zipped(t, parts...)
}

// Parts are found by what the document says of them, whatever they are called: word processors
// on the web write word/document2.xml.
func TestPartsOfOtherNames(t *testing.T) {
	for file, names := range map[string]map[string]string{
		"report.docx": {
			"word/document.xml": "word/document2.xml", "word/styles.xml": "word/styles2.xml", "word/footnotes.xml": "word/notes/foot.xml", "word/comments.xml": "said.xml",
		},
		"sheet.xlsx":  {"xl/workbook.xml": "book/main.xml", "xl/sharedStrings.xml": "book/texts.xml", "xl/styles.xml": "looks.xml", "xl/worksheets/sheet1.xml": "one.xml"},
		"slides.pptx": {"ppt/presentation.xml": "show.xml"},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		kind, want, err := read(t, data, documents.Usual)
		if err != nil {
			t.Fatal(err)
		}
		is, got, err := read(t, renamed(t, data, names), documents.Usual)
		if err != nil || is != kind {
			t.Errorf("%s is a %q, and the error is %v", file, is, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-usual names +other names):\n%s", file, diff)
		}
	}
}

// A document whose lists are damaged or missing is read by the usual names, and one whose lists
// name something else is none.
func TestListsOfParts(t *testing.T) {
	const rels = `<Relationships><Relationship Id="a" Type="x/officeDocument" Target="/a.xml"/></Relationships>`
	const letter = `<document><body><p><t>Hello</t></p></body></document>`
	for name, test := range map[string]struct {
		parts []string
		kind  documents.Kind
	}{
		"no lists":           {[]string{"word/document.xml", letter}, documents.Docx},
		"a damaged list":     {[]string{"_rels/.rels", "<Rel", "word/document.xml", letter}, documents.Docx},
		"a damaged type":     {[]string{"_rels/.rels", rels, "a.xml", letter, "[Content_Types].xml", "<T", "word/document.xml", letter}, documents.Docx},
		"no type":            {[]string{"_rels/.rels", rels, "a.xml", letter}, ""},
		"another type":       {[]string{"_rels/.rels", rels, "a.xml", letter, "[Content_Types].xml", `<Types><Override PartName="/a.xml" ContentType="application/x"/></Types>`}, ""},
		"by the end of name": {[]string{"_rels/.rels", rels, "a.xml", letter, "[Content_Types].xml", `<Types><Default Extension="XML" ContentType="application/vnd.ms-word.document.macroEnabled.main+xml"/></Types>`}, documents.Docx},
		"a way out":          {[]string{"_rels/.rels", strings.Replace(rels, "/a.xml", "../../word/document.xml", 1), "x", ""}, ""},
	} {
		kind, text, err := read(t, zipped(t, test.parts...), documents.Usual)
		if kind != test.kind || (err == nil) != (test.kind != "") || test.kind != "" && text != "Hello\n" {
			t.Errorf("%s: it is a %q, %q, %v", name, kind, text, err)
		}
	}
}

// openpyxl.xlsx and pandoc.docx were written by these programs; then parts got the names that
// other programs give them.
func TestWhatOtherProgramsWrote(t *testing.T) {
	for file, want := range map[string]string{
		"openpyxl.xlsx": "## Sheet: Plan\nWhen,What\n2026-11-30,\"Bulbs, early\"\n3,Übersicht\n\n## Sheet: Second\n,only a word\n",
		"pandoc.docx":   "# A title\nSome words.[20] And more.\n\na\tb\n1\t2\n\n[20]  A note.\n",
	} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := read(t, data, documents.Usual)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", file, err, diff)
		}
	}
}
