package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// MaxMethods is how many methods an interface may have, embedded ones included.
const MaxMethods = 20

// typeID names a type: its folder, with "_test" appended in an external test package,
// and its name.
type typeID struct{ dir, name string }

// declared is a type or an interface as it stands in a file.
type declared struct {
	expr    ast.Expr
	dir     string            // the dir of typeID
	imports map[string]string // of the file: our packages, by the name that the file uses
}

// collect remembers the types that f declares, and its interfaces, named or not.
func (h *house) collect(dir string, f *ast.File) {
	if strings.HasSuffix(f.Name.Name, "_test") {
		dir += "_test"
	}
	imports := map[string]string{}
	for _, spec := range f.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if ours, found := strings.CutPrefix(imported, h.module+"/"); found && spec.Name != nil {
			imports[spec.Name.Name] = ours
		} else if found {
			imports[path.Base(ours)] = ours
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			h.types[typeID{dir, n.Name.Name}] = declared{n.Type, dir, imports}
		case *ast.InterfaceType:
			h.interfaces = append(h.interfaces, declared{n, dir, imports})
		}
		return true
	})
}

// Widest finds the interface with the most methods, as "file:line", and counts them.
func Widest(fsys fs.FS, module string) (where string, methods int, err error) {
	h, err := look(fsys, module, nil)
	if err != nil {
		return "", 0, err
	}
	for _, d := range h.interfaces {
		if n := h.width(d); n > methods {
			at := h.fset.Position(d.expr.Pos())
			where, methods = fmt.Sprintf("%s:%d", at.Filename, at.Line), n
		}
	}
	return where, methods, nil
}

// width counts the methods of an interface. An embedded type of another module counts
// as one.
func (h *house) width(d declared) int {
	methods := map[string]bool{}
	h.methods(d, methods)
	return len(methods)
}

// methods adds the names of d's methods.
func (h *house) methods(d declared, names map[string]bool) {
	add := func(dir, name string, pos token.Pos) {
		if t, found := h.types[typeID{dir, name}]; found {
			h.methods(t, names)
		} else {
			names[h.fset.Position(pos).String()] = true
		}
	}
	switch e := d.expr.(type) {
	case *ast.Ident:
		add(d.dir, e.Name, e.Pos())
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			add(d.imports[pkg.Name], e.Sel.Name, e.Pos())
		}
	case *ast.IndexExpr:
		h.methods(declared{e.X, d.dir, d.imports}, names)
	case *ast.IndexListExpr:
		h.methods(declared{e.X, d.dir, d.imports}, names)
	case *ast.InterfaceType:
		for _, m := range e.Methods.List {
			for _, name := range m.Names {
				names[name.Name] = true
			}
			if len(m.Names) == 0 {
				h.methods(declared{m.Type, d.dir, d.imports}, names)
			}
		}
	}
}
