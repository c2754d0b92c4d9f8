//go:build amd64 || arm64

package sandbox_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"dragoman/internal/sandbox"
	"dragoman/internal/testkit"
)

// A program reads a file in the unit, sees nothing else, and leaves nothing. What it writes is
// looked at as anybody's: a link leads nowhere.
func TestProgramsInTheUnit(t *testing.T) {
	u, work, goesOn := unitFor(t, "sandbox-exec", sandbox.Unbounded)
	if !goesOn {
		return
	}
	workspace := filepath.Dir(filepath.Dir(work))
	secret := filepath.Join(workspace, "secret")
	left := filepath.Join(workspace, ".reading", "left")
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.MkdirAll(filepath.Dir(left), 0o700), os.WriteFile(left, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, line, in, out, said, ended string
		code                             int
	}{
		{"reads and writes", `tr a-z A-Z; echo oh >&2; exit 3`, "it's a file", "IT'S A FILE", "oh", "", 3},
		{"sees no file of others", "cat " + secret + "; ls ..; echo done", "", "done", "", "", 0},
		{"has a link for its output", "rm out; ln -s " + secret + " out", "", "", "", "", 0},
		{"has a folder for its output", "rm out; mkdir -m 0 out", "", "", "", "", 0},
		{"memory", `a=$(head -c 300000000 /dev/zero | tr '\0' a) && echo "${#a}"`, "", "", "", "", -2},
		{"the processor", `while :; do :; done`, "", "", "", "", -1},
		{"writes without end", `yes`, "", strings.TrimSpace(strings.Repeat("y\n", 500)), "", "it wrote more than it may", -1},
	} {
		got, err := u.Read(t.Context(), sh(test.line, test.in))
		failed := test.code == -2 && got.Code != 0 || test.code == -1 && got.Code < 0 || got.Code == test.code
		if err != nil || strings.TrimSpace(string(got.Out)) != test.out || !strings.Contains(got.Said, test.said) || !failed || got.Ended != test.ended {
			t.Errorf("%s: %.99q, %q, code %d, ended %q, %v", test.name, got.Out, got.Said, got.Code, got.Ended, err)
		}
	}
	if poppler := sandbox.Find("pdftotext"); poppler != "" {
		page := testkit.PDF("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 1/Kids[3 0 R]>>",
			"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 5 0 R>>>>/Contents 4 0 R>>",
			testkit.PDFStream("", []byte("BT /F 24 Tf 60 700 Td (Forty tulips) Tj ET")), "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
		got, err := u.Read(t.Context(), sandbox.Program{Path: poppler, Args: []string{"-layout", "-", "-"}, In: bytes.NewReader(page), Most: 1000})
		if err != nil || got.Code != 0 || !strings.Contains(string(got.Out), "Forty tulips") {
			t.Errorf("of a PDF pdftotext says %q, %q, code %d, %v", got.Out, got.Said, got.Code, err)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(left)); len(files) > 0 || err != nil {
		t.Errorf("this is left: %v, %v", files, err)
	}
	gone := errors.New("the disk is gone")
	p := sh("cat", "")
	p.In = iotest.ErrReader(gone)
	if _, err := u.Read(t.Context(), p); !errors.Is(err, gone) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}
