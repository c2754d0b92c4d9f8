package markup

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Grid is the text of a table and the widths of its columns on a screen.
type Grid struct {
	Rows   [][]string
	Widths []int
}

// Lay makes a grid of rows; cell returns the text of each cell.
func Lay(rows [][]Body, cell func(Body) string) Grid {
	var g Grid
	for _, bodies := range rows {
		var cells []string
		for i, body := range bodies {
			s := cell(body)
			cells = append(cells, s)
			if i == len(g.Widths) {
				g.Widths = append(g.Widths, 0)
			}
			g.Widths[i] = max(g.Widths[i], uniseg.StringWidth(s))
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// Line returns row i with aligned columns, separated by between. A cell that is wider than
// its column is not cut.
func (g Grid) Line(i int, between string) string {
	var b strings.Builder
	for j, cell := range g.Rows[i] {
		if j > 0 {
			b.WriteString(between)
		}
		b.WriteString(cell)
		if j < len(g.Rows[i])-1 {
			b.WriteString(strings.Repeat(" ", max(0, g.Widths[j]-uniseg.StringWidth(cell))))
		}
	}
	return b.String()
}
