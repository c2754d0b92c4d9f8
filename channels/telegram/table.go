package telegram

import (
	"bufio"
	"io"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// mostColumn bounds how wide a column is made: one long cell should not push
// every other row off the screen.
const mostColumn = 30

// newHTMLWriter makes the kind of writer that goldmark wants.
func newHTMLWriter(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, 256) }

// table writes a table with aligned columns in fixed width, since Telegram
// has none.
func (w *writer) table(n *extast.Table) {
	var rows [][]string
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			text := w.cell(cell)
			if len(widths) <= len(cells) {
				widths = append(widths, 0)
			}
			widths[len(cells)] = max(widths[len(cells)], min(uniseg.StringWidth(text), mostColumn))
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	var b strings.Builder
	for i, cells := range rows {
		for j, text := range cells {
			if j > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(text)
			if j < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", max(0, widths[j]-uniseg.StringWidth(text))))
			}
		}
		b.WriteByte('\n')
		if i == 0 {
			b.WriteString(rule(widths))
		}
	}
	w.code(b.String(), "")
}

// rule is the line under a table's head.
func rule(widths []int) string {
	var b strings.Builder
	for i, width := range widths {
		if i > 0 {
			b.WriteString("-+-")
		}
		b.WriteString(strings.Repeat("-", max(width, 1)))
	}
	b.WriteByte('\n')
	return b.String()
}

// cell is a cell's text as people see it.
func (w *writer) cell(n ast.Node) string {
	inner := &writer{source: w.source}
	inner.inlines(n)
	return strings.Join(strings.Fields(inner.plain.String()), " ")
}
