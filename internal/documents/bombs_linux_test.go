package documents_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/internal/testkit"
)

// swollen is an archive with small parts, names and contents in turn, and a last one that is
// unpacked into begin and then pieces of that many bytes.
func swollen(t *testing.T, small []string, name, begin, piece string, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	put := func(name string, write func(w io.Writer) error) {
		w, err := z.Create(name)
		if err == nil {
			err = write(w)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(small); i += 2 {
		put(small[i], func(w io.Writer) error { _, err := io.WriteString(w, small[i+1]); return err })
	}
	put(name, func(w io.Writer) error {
		_, err := io.WriteString(w, begin)
		many := strings.Repeat(piece, 1+(64<<10)/len(piece))
		for left := size; left > 0 && err == nil; left -= len(many) {
			_, err = io.WriteString(w, many)
		}
		return err
	})
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Office documents and books that are made to be expensive cost the daemon's child no more
// than its limits.
func TestHandsOfficeBombs(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector has memory of its own")
	}
	if !testkit.AsUser(t, "/") { // in a fresh process: its own memory counts for the child
		return
	}
	sheet := []string{
		"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="S" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="rId1" Type="http://x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml", "<worksheet/>",
	}
	ods := []string{"mimetype", "application/vnd.oasis.opendocument.spreadsheet"}
	book := []string{
		"mimetype", "application/epub+zip", "META-INF/container.xml", `<container><rootfile full-path="c.opf"/></container>`,
		"c.opf", `<package><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/><itemref idref="a"/></package>`,
	}
	for name, data := range map[string][]byte{
		"a gigabyte of one word":    swollen(t, nil, "word/document.xml", docxHead+"<w:p><w:r><w:t>", "a", 1<<30),
		"words without letters":     swollen(t, sheet, "xl/sharedStrings.xml", "<sst>", "<si/>", 15<<20),
		"styles without end":        swollen(t, sheet, "xl/styles.xml", "<styleSheet><cellXfs>", "<xf/>", 15<<20),
		"relations without end":     swollen(t, []string{"word/document.xml", docxHead}, "word/_rels/document.xml.rels", "<Relationships>", `<Relationship Id="a" Type="x/footnotes" Target="a.xml"/>`, 15<<20),
		"cells that repeat":         swollen(t, ods, "content.xml", "<office:spreadsheet><table:table>", `<table:table-row><table:table-cell table:number-columns-repeated="16384"/></table:table-row>`, 15<<20),
		"elements that stay open":   swollen(t, book, "a.xhtml", "<html><body>", "<p><b><b><b><i><a href=x><font></p>", 12<<20),
		"elements in elements":      swollen(t, book, "a.xhtml", "<html><body>", "<b><i><a><table><tr><td>", 15<<20),
		"paragraphs without an end": swollen(t, book, "a.xhtml", "<html><body>", "<p>", 15<<20),
	} {
		t.Run(name, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), "/proc/self/exe")
			child.Args = []string{"dragoman", "sandbox-child", childWork}
			child.Env = []string{}
			child.Stdin = bytes.NewReader(data)
			out, err := child.Output()
			usage, is := child.ProcessState.SysUsage().(*syscall.Rusage)
			if !is {
				t.Skip("what it took is not known")
			}
			took := child.ProcessState.UserTime() + child.ProcessState.SystemTime()
			memory := int64(usage.Maxrss) << 10
			t.Logf("%7d bytes: %4.1f s, %3d MB, %d bytes of text, %v", len(data), took.Seconds(), memory>>20, len(out), err)
			if took > 15*time.Second || memory > 150<<20 {
				t.Errorf("it took %v and %d MB", took, memory>>20)
			}
		})
	}
}
