package story_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// pdf is a file of some pages, each of which draws its content.
func pdf(trailer string, pages ...string) []byte {
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"", // the list of pages
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
		testkit.PDFStream("/Type/XObject/Subtype/Image/Width 200/Height 280/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/DCTDecode", aScan()),
	}
	kids := ""
	for _, content := range pages {
		n := len(objects)
		kids += fmt.Sprintf("%d 0 R ", n+1)
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>/XObject<</I 4 0 R>>>>/Contents %d 0 R>>", n+2),
			testkit.PDFStream("", []byte(content)))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", len(pages), kids)
	return testkit.PDF(trailer, objects...)
}

// aScan is a page from a scanner.
func aScan() []byte {
	page := image.NewGray(image.Rect(0, 0, 200, 280))
	for i := range page.Pix {
		page.Pix[i] = 255
		if i/200%20 < 4 && i%200 > 20 && i%200 < 180 {
			page.Pix[i] = 40
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, page, nil); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// drawn is a page's text, and scanned one that is a picture.
func drawn(text string) string { return "BT /F 24 Tf 60 700 Td (" + text + ") Tj ET" }

const scanned = "q 595 0 0 842 0 0 cm /I Do Q"

// A PDF is read as text, and a scan is shown, by the real program as an ordinary user. A PDF
// that cannot be read costs one sentence.
func TestPDFs(t *testing.T) {
	testkit.Need(t, "pdftotext")
	if !asUser(t) {
		return
	}
	h := newLibrary(t, seeing(""))
	h.start().readsPDFs()
	locked := pdf("/Encrypt<</Filter/Standard/V 1/R 2/O<"+strings.Repeat("41", 32)+">/U<"+strings.Repeat("42", 32)+">/P -4>>/ID[<41><41>]", drawn("secret words"))
	mailed := "Content-Type: application/pdf\r\n\r\n" + strings.Replace(string(pdf("", drawn("The price was 41 euros"))), "\n", "\n%\xe2\xe3\xcf\xd3\n", 1)
	post := func(name, caption string, data []byte) {
		h.api.Private(ann).Post(botapi.Post{From: ann, Extra: document(h.api.AddFile(data), name, "application/octet-stream", caption)})
	}
	for i, test := range []struct {
		name string
		data []byte
		want []string
	}{
		{"offer.txt", pdf("", drawn("The price is 42 euros"), scanned), []string{"[page 1]\nThe price is 42 euros", "Pages without text, perhaps pictures: 2."}},
		{"mailed.pdf", []byte(mailed), []string{"[page 1]\nThe price was 41 euros"}},
		{"locked.pdf", locked, []string{"is protected by a password"}},
		{"half.pdf", []byte("%PDF-1.4\nthat was all"), []string{"is damaged, and cannot be read"}},
	} {
		post(test.name, "read it", test.data)
		got := h.said(ann.ID, i+1)[i]
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("to %s the bot says %q, want %q", test.name, got, want)
			}
		}
	}
	post("scan", "what is this?", pdf("", scanned, scanned))
	got := h.said(ann.ID, 5)[4]
	for _, want := range []string{"2 pictures; what is this?", `[image "page 1 of scan", image/jpeg, `, `[image "page 2 of scan", `} {
		if !strings.Contains(got, want) {
			t.Errorf("to a scan the bot says %q, want %q", got, want)
		}
	}
	scan := fileName.FindString(got)
	h.tell(ann, "read it, it is the "+scan)
	if got := h.said(ann.ID, 6)[5]; !strings.Contains(got, "is a PDF of 2 pages without text: a scan or drawings") {
		t.Errorf("reading a scan comes to %q", got)
	}
}

// readsPDFs skips the test where this system lacks what that needs.
func (d *daemon) readsPDFs() {
	s, err := api.ReadStatus.Call(d.t.Context(), d.admin, api.None{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, f := range s.Features {
		if f.Name == "pdf" && f.State != api.FeatureOn {
			d.t.Skip(f.Says)
		}
	}
}

// A reader that is killed costs one sentence, and the next message is answered.
func TestPDFReaderIsKilled(t *testing.T) {
	testkit.Need(t, "pdftotext")
	if !asUser(t) {
		return
	}
	h := newLibrary(t, seeing(""))
	d := h.start()
	d.readsPDFs()
	long := pdf("", strings.Repeat(drawn("word"), 300_000))
	h.api.Private(ann).Post(botapi.Post{From: ann, Extra: document(h.api.AddFile(long), "long.pdf", "application/pdf", "read it")})
	looks := d.child("pdftotext", 0) // whether it is a scan: that is nobody's question
	kill(t, looks)
	kill(t, d.child("pdftotext", looks))
	if got := h.said(ann.ID, 1)[0]; !strings.Contains(got, "cannot be read: it needs more memory or time") {
		t.Errorf("the reader was killed, and the bot says %q", got)
	}
	h.tell(ann, "are you there?")
	h.said(ann.ID, 2)
}

// child waits for a process of that name below d, another one than not, and returns its id.
func (d *daemon) child(name string, not int) (pid int) {
	testkit.Eventually(d.t, "a process "+name, func() bool {
		all, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			d.t.Fatal(err)
		}
		for _, path := range all {
			stat, err := os.ReadFile(path)
			if err != nil {
				continue // it has ended
			}
			var parent int
			_, rest, _ := strings.Cut(string(stat), "("+name+") ")
			if n, _ := fmt.Sscanf(rest, "%1s %d", new(string), &parent); n == 2 && parent == d.cmd.Process.Pid {
				_, err := fmt.Sscan(string(stat), &pid)
				return err == nil && pid != not
			}
		}
		return false
	})
	return pid
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
