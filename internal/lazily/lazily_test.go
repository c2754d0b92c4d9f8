package lazily_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dragoman/internal/lazily"
)

func TestCompiledOnce(t *testing.T) {
	e := lazily.Compile(`^a+$`)
	first := make(chan *regexp.Regexp)
	go func() { first <- e.Regexp() }()
	if r := e.Regexp(); r != <-first || !r.MatchString("aa") || r.MatchString("b") {
		t.Errorf("two goroutines have two expressions, or %s is none", r)
	}
}

// TestAllCanBeCompiled: an invalid expression panics only on first use, and perhaps no
// other test uses it.
func TestAllCanBeCompiled(t *testing.T) {
	count, files := 0, token.NewFileSet()
	look := func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := f.X.(*ast.Ident)
		if !ok || !compiling[of.Name+"."+f.Sel.Name] {
			return true
		}
		count++
		if _, err := regexp.Compile(textOf(call.Args[0])); err != nil {
			t.Errorf("%s: %v", files.Position(call.Pos()), err)
		}
		return true
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err == nil {
			ast.Inspect(f, look)
		}
		return err
	})
	if err != nil || count < 50 {
		t.Errorf("found %d expressions (%v), want most of the house's", count, err)
	}
}

// compiling are the functions whose first argument is an expression that is compiled
// on first use.
var compiling = map[string]bool{"lazily.Compile": true, "setting.Like": true}

// textOf is a string of literals; what is none is left out.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	}
	return ""
}
