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
)

// TestHouse looks at this repository.
func TestHouse(t *testing.T) {
	fsys := os.DirFS("../..")
	if _, err := os.Stat("../../go.mod"); err != nil {
		t.Fatal(err)
	}
	problems, err := archtest.Check(fsys, "dragoman", archtest.Table)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// methods are n methods of an interface.
func methods(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("M%d()", i))
	}
	return strings.Join(all, ";")
}

// TestWidestInterface says which one it is: docs/internals/architecture.md has the number.
func TestWidestInterface(t *testing.T) {
	where, n, err := archtest.Widest(os.DirFS("../.."), "dragoman")
	if err != nil || n == 0 || n > archtest.MaxMethods {
		t.Errorf("Widest = %s, %d, %v", where, n, err)
	}
	t.Logf("%s has %d methods", where, n)
}

// twoThings are the complaints about an if or a switch at these places.
func twoThings(at ...string) (all []string) {
	for _, place := range at {
		all = append(all, place+": only := may stand before the condition of an if or switch: give this a line of its own")
	}
	slices.Sort(all)
	return all
}

func TestCheck(t *testing.T) {
	const ok = "// Package p.\npackage p\n"
	rules := []archtest.Rule{
		{Package: "a"},
		{Package: "a/special", Imports: []string{"b"}},
		{Package: "a/*", Imports: []string{"a"}, Tests: []string{"b"}},
		{Package: "b/**", Imports: []string{"a", "b/**"}},
		{Package: "top*/**", Imports: []string{"**"}},
		{Package: "util"},
		{Package: "sim/**", Imports: []string{"sim/**", "a"}, ForTests: true},
		{Package: "wired", Imports: []string{"**"}, TestsBehind: "crash"},
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"in order": {files: map[string]string{
			"a/a.go": ok + `import "fmt"`, "a/x/x.go": ok + `import "m/a"`, "a/x/x_test.go": "package x_test\nimport (\n\"m/a/x\"\n\"m/b\"\n\"m/internal/testkit\"\n)",
			"b/deep/er/b.go": ok + `import "m/b"`, "topmost/in/t.go": ok + `import "m/a/x"`, "a/special/s.go": ok + `import "m/b"`, "a/other.go": ok + `import "mm/b"`,
			"a/testdata/x.go": "package util", ".cache/x.go": "package util", "_old/x.go": "package util",
		}},
		"an arrow upwards": {files: map[string]string{"a/a.go": ok + `import "m/b"`}, want: []string{"a/a.go:3: a may not import b (allowed: )"}},
		"a sibling":        {files: map[string]string{"a/x/x.go": ok + `import "m/a/y"`}, want: []string{"a/x/x.go:3: a/x may not import a/y (allowed: a)"}},
		"under another name": {
			files: map[string]string{"a/a.go": ok + `import (` + "\n" + `_ "m/b"` + "\n" + `. "m/b/c"` + "\n)"},
			want:  []string{"a/a.go:4: a may not import b (allowed: )", "a/a.go:5: a may not import b/c (allowed: )"},
		},
		"the particular rule counts": {files: map[string]string{"a/special/s.go": ok + `import "m/a"`}, want: []string{"a/special/s.go:3: a/special may not import a (allowed: b)"}},
		"what tests may, sources may not": {files: map[string]string{"a/x/x.go": ok + "import (\n\"m/b\"\n\"m/internal/testkit\"\n)"}, want: []string{
			"a/x/x.go:4: a/x may not import b (allowed: a)", "a/x/x.go:5: a/x may not import internal/testkit (allowed: a)",
		}},
		"tests have rules too": {files: map[string]string{"a/a.go": ok, "a/a_test.go": `package a` + "\n" + `import "m/b"`}, want: []string{"a/a_test.go:2: a may not import b (allowed: )"}},
		"behind a build tag":   {files: map[string]string{"a/a.go": "//go:build never\n\n" + ok + `import "m/b"`}, want: []string{"a/a.go:5: a may not import b (allowed: )"}},
		"for tests, in order": {files: map[string]string{
			"sim/s.go": ok + `import "m/sim/deep"`, "topmost/t.go": ok, "topmost/t_test.go": "package t\n" + `import "m/sim"`, "wired/off.go": "//go:build !crash\n\n" + ok,
			"wired/on.go": "// A licence.\n\n//go:build (crash && !no) || (other && crash)\n\n" + ok + `import "m/sim"`,
		}},
		"for tests, in a source": {
			files: map[string]string{"topmost/t.go": ok + `import "m/sim/deep"`, "wired/w.go": ok + `import "m/sim"`},
			want: []string{
				"topmost/t.go:3: sim/deep is for tests, and topmost may import it only in _test files",
				"wired/w.go:3: sim is for tests, and wired may import it only in _test files and behind the build tag crash",
			},
		},
		"for tests, behind another tag": {
			files: map[string]string{
				"wired/a.go": "//go:build !crash\n\n" + ok + `import "m/sim"`, "wired/b.go": "//go:build crash || linux\n\n" + ok + `import "m/sim"`,
				"wired/c.go": ok + "//go:build crash\n" + `import "m/sim"`, "topmost/d.go": "//go:build crash\n\n" + ok + `import "m/sim"`,
			},
			want: []string{
				"topmost/d.go:5: sim is for tests, and topmost may import it only in _test files",
				"wired/a.go:5: sim is for tests, and wired may import it only in _test files and behind the build tag crash",
				"wired/b.go:5: sim is for tests, and wired may import it only in _test files and behind the build tag crash",
				"wired/c.go:4: sim is for tests, and wired may import it only in _test files and behind the build tag crash",
			},
		},
		"a wide interface": {
			files: map[string]string{"a/a.go": ok + "// I.\ntype I interface{" + methods(21) + "}", "a/a_test.go": "package a_test\nvar _ any = struct{}{}.(interface{" + methods(22) + "})"},
			want:  []string{"a/a.go:4: the interface has 21 methods, at most 20 are allowed", "a/a_test.go:2: the interface has 22 methods, at most 20 are allowed"},
		},
		"an interface of interfaces": {
			files: map[string]string{
				"a/a.go": ok + "// I.\ntype I interface {\nnarrow\nOther\nA()\n}\n// N.\ntype narrow interface { Other; error }\n// Other.\ntype Other = generic[int]\n// G.\ntype generic[T any] interface {" + methods(18) + "}",
				"b/b.go": ok + "import second \"m/a\"\n// J.\ntype J interface{ second.I; B() }",
			},
			want: []string{"b/b.go:5: the interface has 21 methods, at most 20 are allowed"},
		},
		"no place":                {files: map[string]string{"c/c.go": ok}, want: []string{"c/c.go:2: the package c is not in the table of internal/archtest: give it a place and its arrows"}},
		"a folder's name":         {files: map[string]string{"util/u.go": ok}, want: []string{"util/u.go:2: a folder called util says nothing about what is in it"}},
		"a package's name":        {files: map[string]string{"a/a.go": "// Package manager.\npackage manager"}, want: []string{"a/a.go:2: a package called manager says nothing about what is in it"}},
		"no package comment":      {files: map[string]string{"a/a.go": "package a", "a/a_test.go": ok}, want: []string{"a: the package has no doc comment"}},
		"comment in another file": {files: map[string]string{"a/a.go": "package a", "a/doc.go": ok}},
		"a long file":             {files: map[string]string{"a/a_test.go": "package a" + strings.Repeat("\n", 601)}, want: []string{"a/a_test.go:1: the file has 601 lines, at most 600 are allowed"}},
		"a file of 600 lines":     {files: map[string]string{"a/a_test.go": "package a" + strings.Repeat("\n", 600)}},
		"a long function":         {files: map[string]string{"a/a.go": ok + "func f() {" + strings.Repeat("\n", 80) + "}"}, want: []string{"a/a.go:3: f has 81 lines, at most 80 are allowed"}},
		"a function of 80 lines":  {files: map[string]string{"a/a.go": ok + "func f() {" + strings.Repeat("\n", 79) + "}", "a/a_test.go": "package a\nfunc g() {" + strings.Repeat("\n", 300) + "}"}},
		"lines that do two things": {
			files: map[string]string{
				"a/a.go":      ok + "func f() {\nif x = g(); x > 0 {\n} else if y = 1; x > 0 {\n}\nswitch x = g(); x {\n}\nswitch g(); x.(type) {\n}\nif n++; n > 1 {\n}\nif err = g(); x > 0 {\n}\nif err = nil; err != nil {\n}\nif r.err, x = g(); r.other != nil {\n}\n}",
				"a/a_test.go": "package a\nfunc f() {\nif delete(m, k); len(m) == 0 {\n}\n}",
			},
			want: twoThings("a/a.go:4", "a/a.go:5", "a/a.go:7", "a/a.go:9", "a/a.go:11", "a/a.go:13", "a/a.go:15", "a/a.go:17", "a/a_test.go:3"),
		},
		"one thing a line": {files: map[string]string{
			"a/a.go": ok + "func f() {\nif x := g(); x > 0 {\n}\nswitch x := g(); x {\n}\nswitch x := g(); y := x.(type) {\n}\nif err = g(); err != nil {\n}\nif x, r.err = g(); errors.Is(r.err, z) {\n}\nif r.workErr = g(); r.workErr == nil {\n}\nfor x = g(); x > 0; x-- {\n}\n}",
		}},
		"many values": {
			files: map[string]string{
				"a/a.go":      ok + "var v, w, x = 1, 2, 3\nconst (\nc = 1\nd, e, f = 1, 2, 3\n)\nfunc g() {\na, b, c := 1, 2, 3\na, b, c = b, c, 4\nfor i, j, k := 0, 1, 2; ; {\n}\n}",
				"a/a_test.go": "package a\nfunc f() {\na.x, b[1], *c, d = 1, 2, 3, 4\n}",
			},
			want: []string{
				"a/a.go:10: 3 values in one assignment, at most 2 are allowed unless they are swapped", "a/a.go:11: 3 values in one assignment, at most 2 are allowed unless they are swapped",
				"a/a.go:3: 3 values in one assignment, at most 2 are allowed unless they are swapped", "a/a.go:6: 3 values in one assignment, at most 2 are allowed unless they are swapped",
				"a/a.go:9: 3 values in one assignment, at most 2 are allowed unless they are swapped", "a/a_test.go:3: 4 values in one assignment, at most 2 are allowed unless they are swapped",
			},
		},
		"few values": {files: map[string]string{
			"a/a.go": ok + "var v, w = 1, 2\nvar x, y, z int\nvar q, r, s = g()\nfunc f() {\na, b := 1, 2\na, b, c := g()\na, b, c = b, c, a\nl[0], l[1], l[2] = l[2], l[0], l[1]\n}",
		}},
		"no comments": {
			files: map[string]string{"a/a.go": ok + "func F() {}\ntype T struct{}\nfunc (T) M() {}\nfunc (*T) Error() string { return \"\" }\nconst C = 1\nvar V, w = 1, 2\ntype u int\nfunc (u) M() {}\ntype (\nv int\nw int // of p\n)\ntype G[X any] struct{}\nfunc (*G[X]) M() {}\n", "a/a_test.go": "package a\ntype x int\nfunc f() { type y int }\n"},
			want: []string{
				"a/a.go:12: the type v has no comment", "a/a.go:15: the type G has no comment", "a/a.go:16: M is exported and has no comment", "a/a.go:3: F is exported and has no comment",
				"a/a.go:4: the type T has no comment", "a/a.go:5: M is exported and has no comment", "a/a.go:7: C is exported and has no comment", "a/a.go:8: V is exported and has no comment",
				"a/a.go:9: the type u has no comment",
			},
		},
		"broken":   {files: map[string]string{"a/a.go": "package"}, want: []string{"a/a.go: the file cannot be read as Go: a/a.go:1:8: expected 'IDENT', found 'EOF'"}},
		"comments": {files: map[string]string{"a/a.go": ok + "// F.\nfunc F() {}\n// Group.\nconst (\nA = 1\nB = 2\n)\nvar (\nC = 1 // beside\n// D.\nD = 1\n)\n// T.\ntype T struct{}\ntype (\n// U.\nU int\n)\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, source := range test.files {
				fsys[name] = &fstest.MapFile{Data: []byte(source)}
			}
			got, err := archtest.Check(fsys, "m", rules)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}
