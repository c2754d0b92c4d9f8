package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Cases are the acceptance cases of conversations and their context, in a few
// words each; the first is number 1. Each has a test that names its number:
// see [Find].
var Cases = []string{
	"a history that begins with a result: it goes, the rest stays",
	"a result in the middle that answers nothing: only it goes",
	"two calls, one result: the other gets a labelled one, nothing is lost",
	"a crash after the calls: the next request is valid, the store as it was",
	"a late result moves to its call or goes with it",
	"one id twice in a message: as many results as calls",
	"one id in two turns: both groups stay",
	"two results of one call: the first counts",
	"empty ids: dropped, no panic",
	"results in another order than their calls are fine",
	"10,000 random histories: repair is idempotent and valid, people's messages stay",
	"what is kept never splits a group of calls and results",
	"a turn of 60 calls that exceeds the window loses whole groups, never the question",
	"the validator holds after the last change to a request",
	"a result of a turn that is over answers nothing",
	"20 messages start no summary, 21 do; a share of the window counts when it is reached",
	"after a summary the kept messages are there word for word",
	"a summariser that fails changes nothing and is left alone for a while",
	"a message that comes during a summary is neither lost nor summarised",
	"a summary of what /new or a deletion ended is dropped",
	"two reasons at once make one summary",
	"facts survive five generations, each one block",
	"the old summary is part of every part of a long one",
	"an oversized message is shown in excerpts that say so",
	"oversized messages only: no empty request, the history stays",
	"a summariser's overflow: smaller parts, bounded, never the same request",
	"the budget is checked before every call, also inside of a tool loop",
	"a refused length: prune, compact, then a clear error; a rate limit is none",
	"a smaller model is not sent what does not fit",
	"after a summary not every turn makes another",
	"few huge messages: the view is cut, never empty, never for ever",
	"what a summary dropped is found in the transcript",
	"no quoted tag ends the block that it stands in",
	"idle conversations have a stable prefix, without a clock",
	"settings that mean nothing are refused by their name",
	"long results (from 16,000 characters on by default, from 50,000 with molf) are shortened in the view, between characters, and stay so",
	"the same call three times is warned of behind its results, then ended",
	"keys that look alike stay apart, also on disk",
	"hostile names stay inside, or are refused",
	"a kill between any two steps of a write leaves the old or the new",
	"a full disk: the answer is there, the error visible, nothing torn",
	"a damaged file is set aside, the others load",
	"files of others' eyes are closed: 0600 in 0700",
	"12 MB in one message come back",
	"what is read is a copy; many at once keep the order of each chat",
	"a clock that jumps back reorders nothing",
	"ids stay unique after deletions, beyond 999, and over midnight in UTC",
	"from one store to another and back, all is equal",
	"old conversations go by their last message, busy ones never",
	"a heartbeat reads and writes no conversation",
	"a heartbeat does not get between a running turn's messages",
	"an update that comes again after a restart is known",
	"IRC: one conversation a channel, nicks in front; private talks apart",
	"messages that come fast are all answered or clearly refused",
	"without a key nothing is read or written",
}

// Proof is a test that names a case.
type Proof struct {
	Package string
	Name    string // of a function, or of a test in a suite's table
}

var (
	// inFunction is "TestCase01To05…" or "TestCase27Case29…".
	inFunction = regexp.MustCompile(`^(?:Test|Fuzz)Case(\d\d?(?:(?:To|And|Case)\d\d?)*)`)
	// inName is "case 16: …" or "Group/Case38Case44…".
	inName = regexp.MustCompile(`^(?:[A-Za-z]+/)?[Cc]ase ?(\d\d?(?:(?:To|And|Case| and )\d\d?)*)(?:$|[: A-Z])`)
	number = regexp.MustCompile(`(To)?(\d\d?)`)
)

// Find reads the tests below fsys and returns which name which case: by the
// name of a function, or by the name of a subtest or of a test in a suite.
func Find(fsys fs.FS) (map[int][]Proof, error) {
	found := make(map[int][]Proof)
	err := names(fsys, func(p Proof, name string) {
		if m := inFunction.FindStringSubmatch(name); m != nil && p.Name == name {
			add(found, m[1], p)
		}
		if m := inName.FindStringSubmatch(name); m != nil && !strings.Contains(name, "%") { // a message about a failure proves nothing
			add(found, m[1], p)
		}
	})
	for n := range found {
		slices.SortFunc(found[n], func(a, b Proof) int { return strings.Compare(a.Package+" "+a.Name, b.Package+" "+b.Name) })
		found[n] = slices.Compact(found[n])
	}
	return found, err
}

// names hands to found what may be the name of a test below fsys: each
// function and each string in the files of tests and of suites, with what
// proves something if it is one. For a string in a test that is the test.
func names(fsys fs.FS, found func(p Proof, name string)) error {
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "testdata" || name == "internal/archtest" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case strings.HasSuffix(name, "_test.go"), strings.HasSuffix(path.Dir(name), "test") && strings.HasSuffix(name, ".go"):
			return namesIn(fsys, name, found)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("archtest: find tests: %w", err)
	}
	return nil
}

func namesIn(fsys fs.FS, name string, found func(p Proof, name string)) error {
	source, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil // Check says what is wrong with the file.
	}
	for _, d := range f.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		if isFunc {
			found(Proof{path.Dir(name), fn.Name.Name}, fn.Name.Name)
		}
		ast.Inspect(d, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				return true
			}
			p := Proof{path.Dir(name), text}
			if isFunc && strings.HasPrefix(fn.Name.Name, "Test") {
				p.Name = fn.Name.Name
			}
			found(p, text)
			return true
		})
	}
	return nil
}

// add notes p for all numbers in list, which is "16", "01To05" or "24And25".
func add(found map[int][]Proof, list string, p Proof) {
	last := 0
	for _, m := range number.FindAllStringSubmatch(list, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		first := n
		if m[1] != "" {
			first = last + 1
		}
		for i := first; i <= n; i++ {
			found[i] = append(found[i], p)
		}
		last = n
	}
}

// CasesTable is what docs/internals/cases.md shows: each case and its tests.
func CasesTable(found map[int][]Proof) string {
	var b strings.Builder
	b.WriteString("| case | what holds | proven by |\n|---|---|---|\n")
	for i, what := range Cases {
		var names []string
		for _, p := range found[i+1] {
			names = append(names, fmt.Sprintf("%s `%s`", p.Package, p.Name))
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", i+1, what, strings.Join(names, "<br>"))
	}
	return b.String()
}
