package archtest_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"dragoman/internal/archtest"
)

// TestLedger: each rule has a row, and what the row names is there.
func TestLedger(t *testing.T) {
	house := os.DirFS("../..")
	page, err := os.ReadFile("../../docs/internals/ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := archtest.CheckLedger(house, string(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Errorf("docs/internals/ledger.md: %s", w)
	}
}

func TestCheckLedger(t *testing.T) {
	fsys := fstest.MapFS{
		"a/a_test.go":    {Data: []byte("package a\nfunc TestOne() { say(\"TestTwo\") }\nfunc helper() {}\n")},
		"storetest/s.go": {Data: []byte("package storetest\nvar t = map[string]int{\"Group/Name\": 1}\n")},
		"docs/page.md":   {Data: []byte("x")},
	}
	page := "| row | what | proof |\n|---|---|---|\n" +
		"| S0-01 | x | a `TestOne` |\n| S0-02 | x | storetest `Group/Name`<br>[page](../page.md#x) |\n| S0-03 | x | |\n" +
		"| S0-04 | x | a `TestTwo` |\n| S0-05 | x | b `TestOne` |\n| S0-06 | x | [page](gone.md) |\n| S0-07 | x | some words |\n| S0-07 | x | a `TestOne` |\n| S9-01 | x | a `TestOne` |\n"
	wrong, err := archtest.CheckLedger(fsys, page)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(wrong, "\n")
	for _, want := range []string{
		"S0-03 has neither", "S0-04 names TestTwo in a", "S0-05 names TestOne in b", "S0-06 names the page gone.md",
		"S0-07 has neither", "S0-07 stands there 2 times", "S0-08 stands there 0 times", "C-21 stands there 0 times", "there are 9 rows, 156 of which",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q in\n%s", want, got)
		}
	}
	for _, fine := range []string{"S0-01", "S0-02"} {
		if strings.Contains(got, fine) {
			t.Errorf("%s is fine, and there stands\n%s", fine, got)
		}
	}
}
