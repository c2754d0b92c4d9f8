package archtest_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/archtest"
	"dragoman/internal/testkit"
)

// TestCases: each acceptance case is named by a test, and docs/internals/cases.md says
// by which. It may lack a test that is new; what it shows must be there.
func TestCases(t *testing.T) {
	if got := len(archtest.Cases); got != 55 {
		t.Fatalf("there are %d cases, want 55", got)
	}
	found, err := archtest.Find(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for i, what := range archtest.Cases {
		if len(found[i+1]) == 0 {
			t.Errorf("no test names case %d: %s", i+1, what)
		}
	}
	for n := range found {
		if n < 1 || n > len(archtest.Cases) {
			t.Errorf("%v name case %d, which there is not", found[n], n)
		}
	}
	const path = "../../docs/internals/cases.md"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		fresh, err := testkit.ReplaceSection(string(old), "cases", archtest.CasesTable(found))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	shown := 0
	for i, what := range archtest.Cases {
		_, row, _ := strings.Cut(string(old), fmt.Sprintf("\n| %d | %s |", i+1, what))
		row, _, _ = strings.Cut(row, "\n")
		proofs := archtest.Proofs(row)
		for _, p := range proofs {
			shown++
			if !slices.Contains(found[i+1], p) {
				t.Errorf("%s: there is no %s in %s that names case %d: run UPDATE=1 go test ./internal/archtest", path, p.Name, p.Package, i+1)
			}
		}
		if len(proofs) == 0 {
			t.Errorf("%s shows no proof of case %d: run UPDATE=1 go test ./internal/archtest", path, i+1)
		}
	}
	if shown < len(archtest.Cases) {
		t.Errorf("%s shows %d proofs", path, shown)
	}
}

func TestFind(t *testing.T) {
	fsys := fstest.MapFS{
		"a/a_test.go": {Data: []byte("package a\n" +
			"func TestCase01To03Repair() {}\nfunc TestCase24And25(){}\nfunc TestCase27Case29X(){}\nfunc TestCaseMapping(){}\nfunc helper() {}\n" +
			"func TestOther() { run(\"case 7: x\"); run(\"case 8\"); say(\"case 9: %d\"); say(\"in case 10: x\"); run(`Case 11 and 12: y`) }\n// case 13: a comment\n")},
		"a/a.go":            {Data: []byte("package a\nfunc TestCase14() { run(\"case 15: x\") }\n")},
		"storetest/x.go":    {Data: []byte("package storetest\nvar t = map[string]int{\"Text/Case16Huge\": 1, \"Text/Case17Case18X\": 2, \"Text/Other\": 3, \"a b/Case19\": 4}\n")},
		"testdata/x.go":     {Data: []byte("package x\nfunc TestCase20() {}\n")},
		"b/broken_test.go":  {Data: []byte("package")},
		"b/another_test.go": {Data: []byte("package b\nfunc TestCase01X() { run(\"case 1: a\"); run(\"case 1: b\") }\n")},
	}
	found, err := archtest.Find(fsys)
	if err != nil {
		t.Fatal(err)
	}
	a := func(name string) []archtest.Proof { return []archtest.Proof{{Package: "a", Name: name}} }
	suite := func(name string) []archtest.Proof { return []archtest.Proof{{Package: "storetest", Name: name}} }
	want := map[int][]archtest.Proof{
		1: append(a("TestCase01To03Repair"), archtest.Proof{Package: "b", Name: "TestCase01X"}),
		2: a("TestCase01To03Repair"), 3: a("TestCase01To03Repair"),
		24: a("TestCase24And25"), 25: a("TestCase24And25"), 27: a("TestCase27Case29X"), 29: a("TestCase27Case29X"),
		7: a("TestOther"), 8: a("TestOther"), 11: a("TestOther"), 12: a("TestOther"),
		16: suite("Text/Case16Huge"), 17: suite("Text/Case17Case18X"), 18: suite("Text/Case17Case18X"),
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("Find (-want +got):\n%s", diff)
	}
}
