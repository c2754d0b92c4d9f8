package archtest

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Ledger says how many rows each part of docs/internals/ledger.md has: the rules of the
// five systems, and what they contradict each other in.
var Ledger = []struct {
	Part string
	Rows int
}{{"S0", 36}, {"S1", 21}, {"S2", 28}, {"S3", 22}, {"S4", 28}, {"C", 21}}

var (
	ledgerRow = regexp.MustCompile(`(?m)^\| ((?:S\d|C)-\d\d) \|([^|]+)\|([^|]*)\|$`)
	// proof is a test as the tables of both pages name it.
	proof = regexp.MustCompile("([a-z/]+) `([^`]+)`")
	link  = regexp.MustCompile(`\]\(([^)#]+)`)
	// isTest is the name of a test: of a function, or of one in a suite.
	isTest = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)[A-Z]\w*$|^[A-Z][A-Za-z]*/[A-Z]\w*$`)
)

// Proofs are the tests that a row of a table names.
func Proofs(row string) (list []Proof) {
	for _, m := range proof.FindAllStringSubmatch(row, -1) {
		list = append(list, Proof{m[1], m[2]})
	}
	return list
}

// Tests reads the tests below fsys: functions, and the names in suites.
func Tests(fsys fs.FS) (map[Proof]bool, error) {
	all := make(map[Proof]bool)
	err := names(fsys, func(p Proof, name string) {
		if p.Name == name && isTest.MatchString(name) {
			all[p] = true
		}
	})
	return all, err
}

// CheckLedger says what is wrong with page, the ledger in docs/internals below fsys.
func CheckLedger(fsys fs.FS, page string) (wrong []string, err error) {
	tests, err := Tests(fsys)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]int)
	for _, m := range ledgerRow.FindAllStringSubmatch(page, -1) {
		seen[m[1]]++
		proofs, links := Proofs(m[3]), link.FindAllStringSubmatch(m[3], -1)
		if len(proofs)+len(links) == 0 {
			wrong = append(wrong, m[1]+" has neither a test nor a page")
		}
		for _, p := range proofs {
			if !tests[p] {
				wrong = append(wrong, fmt.Sprintf("%s names %s in %s, which there is not", m[1], p.Name, p.Package))
			}
		}
		for _, l := range links {
			if _, err := fs.Stat(fsys, path.Join("docs/internals", l[1])); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s names the page %s, which there is not", m[1], l[1]))
			}
		}
	}
	total := 0
	for _, part := range Ledger {
		for n := range part.Rows {
			id := fmt.Sprintf("%s-%02d", part.Part, n+1)
			total++
			if seen[id] != 1 {
				wrong = append(wrong, fmt.Sprintf("%s stands there %d times", id, seen[id]))
			}
		}
	}
	if n := strings.Count(page, "\n| ") - strings.Count(page, "\n| row |"); n != total {
		wrong = append(wrong, fmt.Sprintf("there are %d rows, %d of which are rules", n, total))
	}
	return wrong, nil
}
