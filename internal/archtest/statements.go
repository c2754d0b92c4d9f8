package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// MaxValues is how many values one assignment may have. More are a swap or
// come from one call, and everything else is a line each.
const MaxValues = 2

// statements looks for lines that do two things at once, in tests as well.
func (h *house) statements(f *ast.File) {
	if ast.IsGenerated(f) {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			h.init(n.Init, n.Cond)
		case *ast.SwitchStmt:
			h.init(n.Init, nil)
		case *ast.TypeSwitchStmt:
			h.init(n.Init, nil)
		case *ast.AssignStmt:
			h.values(n.Pos(), n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			var names []ast.Expr
			for _, name := range n.Names {
				names = append(names, name)
			}
			h.values(n.Pos(), names, n.Values)
		}
		return true
	})
}

// init refuses what an if or a switch does before its condition, unless it
// defines variables or is Go's own "if err = f(); err != nil".
func (h *house) init(s ast.Stmt, cond ast.Expr) {
	if a, ok := s.(*ast.AssignStmt); s == nil || ok && (a.Tok == token.DEFINE || testsError(a, cond)) {
		return
	}
	h.wrong(s.Pos(), "only := may stand before the condition of an if or switch: give this a line of its own")
}

// testsError reports whether a takes an error from one call and cond looks at
// that error.
func testsError(a *ast.AssignStmt, cond ast.Expr) bool {
	if cond == nil || a.Tok != token.ASSIGN || len(a.Rhs) != 1 {
		return false
	}
	if _, call := a.Rhs[0].(*ast.CallExpr); !call {
		return false
	}
	for _, left := range a.Lhs {
		name := types.ExprString(left)
		if strings.HasSuffix(strings.ToLower(name), "err") && mentions(cond, name) {
			return true
		}
	}
	return false
}

// mentions reports whether e has a part that is written like that.
func mentions(e ast.Expr, text string) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		part, ok := n.(ast.Expr)
		found = found || ok && types.ExprString(part) == text
		return !found
	})
	return found
}

// values counts what one assignment does.
func (h *house) values(at token.Pos, left, right []ast.Expr) {
	if len(right) > MaxValues && !sameExpressions(left, right) {
		h.wrong(at, "%d values in one assignment, at most %d are allowed unless they are swapped", len(right), MaxValues)
	}
}

// sameExpressions reports whether a swap is made: the right side is the left
// one in another order.
func sameExpressions(left, right []ast.Expr) bool {
	count := map[string]int{}
	for _, e := range left {
		count[types.ExprString(e)]++
	}
	for _, e := range right {
		text := types.ExprString(e)
		if count[text] == 0 {
			return false
		}
		count[text]--
	}
	return true
}
