package documents_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"dragoman/internal/documents"
	"dragoman/internal/sandbox"
	"dragoman/internal/testkit"
)

// childWork is what the daemon calls the work of a child that reads documents.
const childWork = "document"

func TestMain(m *testing.M) {
	sandbox.Main(map[string]sandbox.Work{childWork: sandbox.Within(176<<20, documents.Serve)})
	os.Exit(m.Run())
}

// locked runs poppler in the sandbox on a PDF, as the daemon does, and keeps what it used.
type locked struct {
	data   []byte
	time   time.Duration
	memory int64
	// seconds of the processor; 0: as many as are possible
	seconds int
}

func (l *locked) run(ctx context.Context, name string, args []string, most int) (documents.Poppled, error) {
	got, err := sandbox.Read(ctx, sandbox.Program{Path: sandbox.Find(name), Args: args, In: bytes.NewReader(l.data), Most: most, Seconds: l.seconds})
	l.time = max(l.time, got.Time)
	l.memory = max(l.memory, got.Memory)
	return documents.Poppled{Out: got.Out, Said: got.Said, Code: got.Code}, err
}

// popplerHere skips the test where poppler or the sandbox is missing, and reports whether it
// goes on here, as an ordinary user.
func popplerHere(t *testing.T) bool {
	t.Helper()
	testkit.Need(t, "pdftotext")
	if !testkit.AsUser(t, "/") {
		return false
	}
	if err := sandbox.SelfTest(t.Context(), t.TempDir()); err != nil {
		t.Skip(err)
	}
	return true
}

// Of the words of Debian's manuals that poppler finds alone, nearly all are in what the
// model reads.
func TestHandsManuals(t *testing.T) {
	if !popplerHere(t) {
		return
	}
	manuals, err := filepath.Glob("/usr/share/doc/*/*.pdf*")
	if err != nil || len(manuals) == 0 {
		t.Skipf("no package with a manual is installed, like valgrind (%v)", err)
	}
	for _, path := range manuals {
		data := unpacked(t, path)
		if !documents.IsPDF(data) {
			continue
		}
		laid := directly(t, data, "-layout")
		l := &locked{data: data}
		text, err := documents.PDF(t.Context(), l.run)
		if err != nil {
			t.Errorf("%s %v", path, err)
			continue
		}
		share := found(laid, text)
		t.Logf("%-28s %6d words, %5.1f %% found (of those in reading order, where divided ones are joined, %5.1f %%), %3d pages, %4.1f s, %d MB",
			filepath.Base(path), len(wordsOf(laid)), share, found(directly(t, data), text), strings.Count(text, "[page "), l.time.Seconds(), l.memory>>20)
		if share < 99 {
			t.Errorf("%s: %.1f %% of the words are found", path, share)
		}
	}
}

// directly is what pdftotext says of a PDF outside of the sandbox.
func directly(t *testing.T, data []byte, args ...string) string {
	t.Helper()
	direct := exec.CommandContext(t.Context(), sandbox.Find("pdftotext"), append(args, "-", "-")...)
	direct.Stdin = bytes.NewReader(data)
	text, err := direct.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(z)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// wordsOf are the words of four letters and more.
func wordsOf(text string) (list []string) {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len([]rune(w)) >= 4 {
			list = append(list, w)
		}
	}
	return list
}

// found is how many of the words of want are in text, in percent.
func found(want, text string) float64 {
	left := map[string]int{}
	for _, w := range wordsOf(text) {
		left[w]++
	}
	all := wordsOf(want)
	n := 0
	for _, w := range all {
		if left[w] > 0 {
			left[w]--
			n++
		}
	}
	return 100 * float64(n) / float64(max(1, len(all)))
}

// PDFs that are made to be expensive cost a sentence, or a part of their text, and no more
// than their limits.
func TestHandsBombs(t *testing.T) {
	if !popplerHere(t) {
		return
	}
	for name, data := range bombs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &locked{data: data}
			text, err := documents.PDF(t.Context(), l.run)
			t.Logf("%8d bytes: %4.1f s, %3d MB, %d bytes of text, %v", len(data), l.time.Seconds(), l.memory>>20, len(text), err)
			l.seconds = documents.ScanSeconds
			_, _, shown := documents.Scans(t.Context(), l.run)
			if l.time > 15*time.Second || l.memory > 150<<20 {
				t.Errorf("reading or showing it took %v and %d MB (%v)", l.time, l.memory>>20, shown)
			}
		})
	}
}

// page is a PDF of one page with that content and resources, and more objects from 5 on.
func page(content, resources string, more ...string) []byte {
	return testkit.PDF("", append([]string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Count 1/Kids[3 0 R]>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<<" + resources + ">>/Contents 4 0 R>>",
		content,
	}, more...)...)
}

// deflated is a stream that is unpacked into n copies of s.
func deflated(t *testing.T, dict, s string, n int) string {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	chunk := []byte(strings.Repeat(s, 1+(1<<20)/len(s)))
	for left := n * len(s); left > 0; left -= len(chunk) {
		if _, err := z.Write(chunk[:min(left, len(chunk))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return testkit.PDFStream("/Filter/FlateDecode"+dict, b.Bytes())
}

func bombs(t *testing.T) map[string][]byte {
	font := "/Font<</F 5 0 R>>"
	helvetica := "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
	const forms = 12
	nested := make([]string, forms)
	for i := range nested {
		draws := strings.Repeat("/X Do ", 10)
		resources := fmt.Sprintf("/Resources<</XObject<</X %d 0 R>>>>", 6+i)
		if i == forms-1 {
			draws, resources = "BT /F 9 Tf (word) Tj ET", "/Resources<</Font<</F 18 0 R>>>>"
		}
		nested[i] = testkit.PDFStream("/Type/XObject/Subtype/Form/BBox[0 0 600 900]"+resources, []byte(draws))
	}
	image := "/Type/XObject/Subtype/Image/Width 60000/Height 60000/ColorSpace/DeviceRGB/BitsPerComponent 8"
	return map[string][]byte{
		"a stream of zeros":       page(deflated(t, "", "\x00", 1<<30), font, helvetica),
		"a page of words":         page(deflated(t, "", "BT /F 9 Tf 9 9 Td (word) Tj ET\n", 20_000_000), font, helvetica),
		"a page of words apart":   page(deflated(t, "", "(many words on one page) ' ", 3_000_000), font, helvetica),
		"arrays in arrays":        page(testkit.PDFStream("", []byte(strings.Repeat("[", 5_000_000))), font, helvetica),
		"dictionaries in a file":  testkit.PDF("", "<</Type/Catalog/Pages "+strings.Repeat("<</A ", 2_000_000)),
		"pages of pages":          testkit.PDF("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 1000000000/Kids[2 0 R 2 0 R 2 0 R]>>"),
		"a loop of tables":        []byte("%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\nxref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 3/Root 1 0 R/Prev 53>>\nstartxref\n53\n%%EOF"),
		"forms in forms":          page(testkit.PDFStream("", []byte(strings.Repeat("/X Do ", 10))), "/XObject<</X 5 0 R>>", append(nested, "", helvetica)...),
		"a picture of 3.6 GP":     page(testkit.PDFStream("", []byte("q 595 0 0 842 0 0 cm /I Do Q")), "/XObject<</I 5 0 R>>", deflated(t, image, "\x00", 1<<28)),
		"a page of ten kilometre": bytes.Replace(page(testkit.PDFStream("", nil), font, helvetica), []byte("[0 0 595 842]"), []byte("[0 0 9e7 9e7]"), 1),
		"filters on filters":      page(testkit.PDFStream("/Filter["+strings.Repeat("/FlateDecode ", 100_000)+"]", []byte("x")), font, helvetica),
		"a huge table of objects": []byte("%PDF-1.5\n1 0 obj\n<</Type/XRef/Size 2147483647/W[1 8 8]/Root 1 0 R/Length 3>>stream\nabc\nendstream\nendobj\nstartxref\n9\n%%EOF"),
	}
}
