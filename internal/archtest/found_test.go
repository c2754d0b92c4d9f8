package archtest_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"dragoman/internal/archtest"
)

// TestFound: the tests and stories that docs/internals/found.md names are there.
func TestFound(t *testing.T) {
	house := os.DirFS("../..")
	page, err := os.ReadFile("../../docs/internals/found.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := archtest.Tests(house)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for row := range strings.Lines(string(page)) {
		cells := strings.Split(row, " | ")
		if len(cells) < 3 {
			continue
		}
		proofs := cells[len(cells)-2] // the last but one says by which tests
		for _, p := range archtest.Proofs(proofs) {
			named++
			if strings.HasSuffix(p.Name, ".txtar") {
				_, err := os.Stat(path.Join("../..", p.Package, "testdata/script", p.Name))
				if err != nil {
					t.Errorf("it names the story %s, which there is not", p.Name)
				}
			} else if !tests[p] {
				t.Errorf("it names %s in %s, which there is not", p.Name, p.Package)
			}
		}
	}
	if named < 100 {
		t.Errorf("it names %d tests; is the table read as it is written?", named)
	}
}
