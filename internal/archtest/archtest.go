// Package archtest keeps the house in order: it reads the sources and says
// where they break the rules on imports, names, sizes, statements and
// comments.
//
// It parses the files itself instead of asking the go command, because the
// answer of a test that runs the go command is cached while the sources
// change. It starts no goroutines and changes nothing.
package archtest

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Limits on size, in lines.
const (
	MaxFile     = 600
	MaxFunction = 80 // outside of tests
)

// refused are package names that say nothing about what is inside.
var refused = []string{"util", "utils", "common", "types", "manager", "managers", "helper", "helpers", "misc", "base"}

// house is one look at the sources.
type house struct {
	fsys     fs.FS
	module   string
	rules    []Rule
	fset     *token.FileSet
	packages map[string]*folder
	problems []string

	types      map[typeID]declared
	interfaces []declared
}

// folder is what was seen of one package.
type folder struct {
	documented bool
	sources    bool // it has files that are not tests
}

// Check reads all Go files of the module called module in fsys and returns
// what breaks the rules, sorted, each as "file:line: what". Folders called
// testdata and those that begin with a dot or underscore are passed over.
func Check(fsys fs.FS, module string, rules []Rule) ([]string, error) {
	h, err := look(fsys, module, rules)
	if err != nil {
		return nil, err
	}
	for _, d := range h.interfaces {
		if n := h.width(d); n > MaxMethods {
			h.wrong(d.expr.Pos(), "the interface has %d methods, at most %d are allowed", n, MaxMethods)
		}
	}
	for dir, f := range h.packages {
		if f.sources && !f.documented {
			h.problems = append(h.problems, dir+": the package has no doc comment")
		}
	}
	slices.Sort(h.problems)
	return h.problems, nil
}

// look reads all the files.
func look(fsys fs.FS, module string, rules []Rule) (*house, error) {
	h := &house{fsys: fsys, module: module, rules: rules, fset: token.NewFileSet(), packages: map[string]*folder{}, types: map[typeID]declared{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go"):
			return h.file(name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("archtest: read the sources: %w", err)
	}
	return h, nil
}

func (h *house) wrong(pos token.Pos, format string, args ...any) {
	at := h.fset.Position(pos)
	h.problems = append(h.problems, fmt.Sprintf("%s:%d: ", at.Filename, at.Line)+fmt.Sprintf(format, args...))
}

// file looks at one file.
func (h *house) file(name string) error {
	source, err := fs.ReadFile(h.fsys, name)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(h.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		h.problems = append(h.problems, fmt.Sprintf("%s: the file cannot be read as Go: %v", name, err))
		return nil
	}
	if lines := strings.Count(string(source), "\n"); lines > MaxFile && !ast.IsGenerated(f) {
		h.wrong(f.Package, "the file has %d lines, at most %d are allowed", lines, MaxFile)
	}
	dir, test := path.Dir(name), strings.HasSuffix(name, "_test.go")
	if h.packages[dir] == nil {
		h.packages[dir] = &folder{}
		h.place(dir, f)
	}
	h.imports(dir, test, f)
	h.collect(dir, f)
	h.statements(f)
	if !test {
		h.packages[dir].sources = true
		h.packages[dir].documented = h.packages[dir].documented || f.Doc != nil
		h.declarations(f)
	}
	return nil
}

// place looks at where a package is and what it is called.
func (h *house) place(dir string, f *ast.File) {
	if h.rule(dir) == nil {
		h.wrong(f.Package, "the package %s is not in the table of internal/archtest: give it a place and its arrows", dir)
	}
	for element := range strings.SplitSeq(dir, "/") {
		if slices.Contains(refused, element) {
			h.wrong(f.Package, "a folder called %s says nothing about what is in it", element)
		}
	}
	if name := strings.TrimSuffix(f.Name.Name, "_test"); slices.Contains(refused, name) {
		h.wrong(f.Package, "a package called %s says nothing about what is in it", name)
	}
}

// rule finds the rule for a package, nil if there is none.
func (h *house) rule(dir string) *Rule {
	for i := range h.rules {
		if match(h.rules[i].Package, dir) {
			return &h.rules[i]
		}
	}
	return nil
}

// imports looks at the arrows that leave a file.
func (h *house) imports(dir string, test bool, f *ast.File) {
	rule := h.rule(dir)
	if rule == nil {
		return // said already
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			h.wrong(spec.Pos(), "import %s cannot be read", spec.Path.Value)
			continue
		}
		ours, found := strings.CutPrefix(imported, h.module+"/")
		if !found || test && ours == dir {
			continue
		}
		if target := h.rule(ours); !test && target != nil && target.ForTests && !rule.ForTests && !needs(f, rule.TestsBehind) {
			h.wrong(spec.Pos(), "%s is for tests, and %s may import it only in _test files%s", ours, dir, behind(rule.TestsBehind))
			continue
		}
		allowed := func(pattern string) bool { return match(pattern, ours) }
		if slices.ContainsFunc(rule.Imports, allowed) || slices.ContainsFunc(everywhere, allowed) {
			continue
		}
		if test && (slices.ContainsFunc(rule.Tests, allowed) || slices.ContainsFunc(everywhereInTests, allowed)) {
			continue
		}
		h.wrong(spec.Pos(), "%s may not import %s (allowed: %s)", dir, ours, strings.Join(rule.Imports, ", "))
	}
}

// needs reports whether f is in no build without that tag.
func needs(f *ast.File, tag string) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() < f.Package && constraint.IsGoBuild(c.Text) {
				expr, err := constraint.Parse(c.Text)
				return err == nil && demands(expr, tag)
			}
		}
	}
	return false
}

// demands reports whether a constraint cannot hold without the tag.
func demands(expr constraint.Expr, tag string) bool {
	switch e := expr.(type) {
	case *constraint.TagExpr:
		return e.Tag == tag
	case *constraint.AndExpr:
		return demands(e.X, tag) || demands(e.Y, tag)
	case *constraint.OrExpr:
		return demands(e.X, tag) && demands(e.Y, tag)
	}
	return false
}

// behind says what else is allowed than tests.
func behind(tag string) string {
	if tag == "" {
		return ""
	}
	return " and behind the build tag " + tag
}

// match reports whether a package's path fits a pattern.
func match(pattern, name string) bool {
	if pattern == "**" {
		return true
	}
	if folder, found := strings.CutSuffix(pattern, "/**"); found {
		depth := strings.Count(folder, "/") + 1
		elements := strings.Split(name, "/")
		return len(elements) >= depth && match(folder, strings.Join(elements[:depth], "/"))
	}
	matched, err := path.Match(pattern, name)
	return err == nil && matched
}

// declarations looks at sizes and comments of what a file declares.
func (h *house) declarations(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			h.function(d)
		case *ast.GenDecl:
			h.group(d)
		}
	}
}

func (h *house) function(d *ast.FuncDecl) {
	lines := h.fset.Position(d.End()).Line - h.fset.Position(d.Pos()).Line + 1
	if lines > MaxFunction {
		h.wrong(d.Pos(), "%s has %d lines, at most %d are allowed", d.Name.Name, lines, MaxFunction)
	}
	// The name Error says all that there is to say about a method.
	if d.Doc == nil && d.Name.IsExported() && d.Name.Name != "Error" && receiverExported(d) {
		h.wrong(d.Pos(), "%s is exported and has no comment", d.Name.Name)
	}
}

// receiverExported reports whether users of the package can see d's receiver;
// true for functions.
func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch inner := t.(type) {
		case *ast.StarExpr:
			t = inner.X
		case *ast.IndexExpr:
			t = inner.X
		case *ast.IndexListExpr:
			t = inner.X
		case *ast.Ident:
			return inner.IsExported()
		default:
			return true
		}
	}
}

// group looks at the comments of types, also of those that are not exported,
// and of exported constants and variables. One over a group in parentheses
// serves all of it.
func (h *house) group(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
				h.wrong(spec.Pos(), "the type %s has no comment", spec.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
					h.wrong(name.Pos(), "%s is exported and has no comment", name.Name)
				}
			}
		}
	}
}
