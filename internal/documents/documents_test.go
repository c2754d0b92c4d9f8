package documents_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/documents"
)

// read returns the text of a document.
func read(t testing.TB, data []byte, limits documents.Limits) (documents.Kind, string, error) {
	t.Helper()
	var text bytes.Buffer
	kind, err := documents.Read(&text, bytes.NewReader(data), int64(len(data)), limits)
	return kind, text.String(), err
}

// zipped is an archive of parts: names and contents in turn.
func zipped(t testing.TB, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The files of testdata were written by LibreOffice 7.4.
func TestWhatAnOfficeSuiteWrote(t *testing.T) {
	const sheet = `## Sheet: Expenses
When,What,Price,Share
2026-11-28,"Seeds, ""early""",12.5,50%
2027-01-02 14:30:00,,0.3,26:15@
1,4901234567890

## Sheet: Übersicht
Only a word
`
	const slides = `## Slide 1
A year of the garden
Forty tulips
One hedge
Notes: Begin with the picture of the wall.

## Slide 2
What comes next
Compost in March
Notes: Ask for helpers.
`
	for name, want := range map[string]string{
		"report.docx": `# The garden in spring
We planted  forty tulips near the wall.[2] The hedge	is next.

## What it needs
- Compost
- A new hose[comment 0]

Plant	Count
Tulip	40

Grüße aus dem Garten, 花園, and a line
that is broken.

[2] Bulbs from last year.

[comment 0 by Gardener] Twenty metres are enough
`,
		"report.odt": `# The garden in spring
We planted  forty tulips near the wall. [note: Bulbs from last year.] The hedge	is next.

## What it needs
- Compost
- A new hose [comment: Twenty metres are enough]

Plant	Count
Tulip	40

Grüße aus dem Garten, 花園, and a line that is broken.
`,
		"sheet.xlsx":  strings.Replace(sheet, "@", ":00", 1),
		"sheet.ods":   strings.Replace(sheet, "@", "", 1),
		"slides.pptx": slides,
		"slides.odp":  slides,
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			kind, text, err := read(t, data, documents.Usual)
			if err != nil || string(kind) != strings.TrimPrefix(filepath.Ext(name), ".") {
				t.Errorf("it is a %q, and the error is %v", kind, err)
			}
			if diff := cmp.Diff(want, text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

const docxHead = `<w:document xmlns:w="w" xmlns:mc="mc" xmlns:wp="wp"><w:body>`

func TestWordLeavesOut(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"deleted words":    {`<w:p><w:r><w:t>kept</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t> new</w:t></w:r></w:ins></w:p>`, "kept new\n"},
		"what was moved":   {`<w:p><w:moveFrom><w:r><w:t>old</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t>new</w:t></w:r></w:moveTo></w:p>`, "new\n"},
		"the second form":  {`<w:p><w:r><mc:AlternateContent><mc:Choice><w:t>box</w:t></mc:Choice><mc:Fallback><w:t>box</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>`, "box\n"},
		"a field's code":   {`<w:p><w:r><w:instrText>PAGE \* MERGEFORMAT</w:instrText></w:r><w:r><w:t>7</w:t></w:r></w:p>`, "7\n"},
		"tab stops":        {`<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r></w:p>`, "a\tb\n"},
		"control signs":    {`<w:p><w:r><w:t>a&#x9b;31mb</w:t></w:r></w:p>`, "a31mb\n"},
		"a list's end":     {`<w:p><w:pPr><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr><w:r><w:t>plain</w:t></w:r></w:p>`, "plain\n"},
		"a picture's look": {`<w:p><w:r><wp:docPr id="1" name="Picture 1" descr="A wall"/></w:r></w:p>`, "[image: A wall]\n"},
		"a cell's table": {`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc>` +
			`<w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`, "ab; \tc\n"},
	} {
		_, text, err := read(t, zipped(t, "word/document.xml", docxHead+test.body+`</w:body></w:document>`), documents.Usual)
		if err != nil || text != test.want {
			t.Errorf("%s: the text is %q, %v; want %q", name, text, err, test.want)
		}
	}
}

// workbook is a sheet of one row, with these forms and cells.
func workbook(t testing.TB, properties, forms, cells string) []byte {
	return zipped(t,
		"xl/workbook.xml", `<workbook xmlns:r="r">`+properties+`<sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="rId1" Type="http://x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/styles.xml", `<styleSheet>`+forms+`</styleSheet>`,
		"xl/worksheets/sheet1.xml", `<worksheet><sheetData><row r="1">`+cells+`</row></sheetData></worksheet>`)
}

func TestNumbersAreWhatASheetShows(t *testing.T) {
	form := func(code string) string {
		return `<numFmts><numFmt numFmtId="164" formatCode="` + code + `"/></numFmts><cellXfs><xf numFmtId="164"/></cellXfs>`
	}
	known := func(id string) string {
		return `<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="` + id + `"/></cellXfs>`
	}
	for _, test := range []struct{ name, properties, forms, value, want string }{
		{"a date", "", known("14"), "46354", "2026-11-28"},
		{"a date of 1904", `<workbookPr date1904="1"/>`, known("14"), "44892", "2026-11-28"},
		{"the first day", "", known("14"), "1", "1900-01-01"},
		{"before the day that never was", "", known("14"), "59", "1900-02-28"},
		{"after it", "", known("14"), "61", "1900-03-01"},
		{"a time", "", known("20"), "0.5", "12:00:00"},
		{"both", "", known("22"), "46354.25", "2026-11-28 06:00:00"},
		{"a date in East Asia", "", known("31"), "46354", "2026-11-28"},
		{"a German date", "", form(`[$-407]d\. mmmm yyyy;@`), "46354", "2026-11-28"},
		{"hours that add up", "", form("[h]:mm"), "1.5", "36:00:00"},
		{"less than nothing", "", form("[h]:mm"), "-0.25", "-6:00:00"},
		{"a percentage", "", form("0.0%"), "0.125", "12.5%"},
		{"a red number", "", form("[Magenta]0.00"), "3.5", "3.5"},
		{"words of days", "", form("0 &quot;days&quot;"), "3", "3"},
		{"no style", "", "", "0.30000000000000004", "0.3"},
		{"a long number", "", "", "4901234567890", "4901234567890"},
		{"a huge date", "", known("14"), "1e300", "1e+300"},
		{"a huge duration", "", form("[h]:mm"), "-1e300", "-1e+300"},
		{"a huge percentage", "", form("0%"), "3000000", "300000000%"},
		{"a date of no number", "", known("14"), "NaN", "NaN"},
		{"a duration without an end", "", form("[h]:mm"), "-Infinity", "-Infinity"},
		{"no number", "", "", "seven", "seven"},
	} {
		_, text, err := read(t, workbook(t, test.properties, test.forms, `<c r="A1" s="0"><v>`+test.value+`</v></c>`), documents.Usual)
		if want := "## Sheet: S\n" + test.want + "\n"; err != nil || text != want {
			t.Errorf("%s: the text is %q, %v; want %q", test.name, text, err, want)
		}
	}
}

func TestCellsKeepTheirPlaces(t *testing.T) {
	_, text, err := read(t, workbook(t, "", "", `<c r="B1" t="inlineStr"><is><t>b</t></is></c><c r="D1" t="b"><v>1</v></c><c t="e"><v>#DIV/0!</v></c><c r="H1" t="s"><v>99</v></c><c r="A1"><v>7</v></c>`), documents.Usual)
	if want := "## Sheet: S\n,b,,TRUE,#DIV/0!,,,[its text is missing]\n"; err != nil || text != want {
		t.Errorf("the text is %q, %v; want %q", text, err, want)
	}
}

func TestBook(t *testing.T) {
	data := zipped(t,
		"mimetype", "application/epub+zip",
		"META-INF/container.xml", `<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>`,
		"OEBPS/content.opf", `<package><manifest><item id="two" href="text/2%20b.xhtml" media-type="application/xhtml+xml"/><item id="one" href="text/1.xhtml" media-type="application/xhtml+xml"/>`+
			`<item id="pic" href="p.png" media-type="image/png"/></manifest><spine><itemref idref="one"/><itemref idref="two"/><itemref idref="pic"/><itemref idref="none"/></spine></package>`,
		"OEBPS/text/1.xhtml", `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><h1>One</h1><p>It began.</p></body></html>`,
		"OEBPS/text/2 b.xhtml", `<html><body><h1>Two</h1><p>It <em>went</em> on.<a href="1.xhtml">back</a></p></body></html>`)
	kind, text, err := read(t, data, documents.Usual)
	if want := "# One\n\nIt began.\n\n# Two\n\nIt went on.back\n"; kind != documents.Epub || err != nil || text != want {
		t.Errorf("the text of the %s is %q, %v; want %q", kind, text, err, want)
	}
}

func TestWhatIsNotRead(t *testing.T) {
	office, err := os.ReadFile("testdata/report.docx")
	if err != nil {
		t.Fatal(err)
	}
	locked := append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), bytes.Repeat([]byte{0}, 70_000)...)
	for _, c := range "EncryptedPackage" {
		locked = append(locked, byte(c), 0)
	}
	manifest := `<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>`
	for name, test := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":              {nil, documents.ErrKind},
		"a text":               {[]byte("PK is a word"), documents.ErrKind},
		"an archive":           {zipped(t, "a.txt", "a"), documents.ErrKind},
		"a picture's archive":  {zipped(t, "mimetype", "application/vnd.oasis.opendocument.graphics"), documents.ErrKind},
		"an old document":      {[]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00\x00"), documents.ErrKind},
		"a locked document":    {locked, documents.ErrLocked},
		"a locked odt":         {zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "META-INF/manifest.xml", manifest, "content.xml", "x"), documents.ErrLocked},
		"half a document":      {office[:len(office)/2], documents.ErrBroken},
		"half an element":      {zipped(t, "word/document.xml", docxHead+`<w:p><w:r><w:t>be`), documents.ErrBroken},
		"UTF-16":               {zipped(t, "word/document.xml", `<?xml version="1.0" encoding="UTF-16"?><a/>`), documents.ErrBroken},
		"a sheet that is lost": {zipped(t, "xl/workbook.xml", "<workbook"), documents.ErrBroken},
		"a book without list":  {zipped(t, "mimetype", "application/epub+zip"), documents.ErrBroken},
	} {
		if _, _, err := read(t, test.data, documents.Usual); !errors.Is(err, test.want) {
			t.Errorf("%s: the error is %v, want %v", name, err, test.want)
		}
	}
}
