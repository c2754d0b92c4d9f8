package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"dragoman/sessions"
)

// table prints columns for people. If the terminal is too narrow, it leaves out
// the least important columns and then narrows the widest. If the output is no
// terminal, it prints everything.
type table struct {
	head []string
	rows [][]string
	// right are the columns, from 0, that are aligned to the right.
	right []int
	// less are the columns to leave out if there is no room, in that order.
	less []int
}

const (
	columnGap = 2
	// leastColumn keeps a squeezed column readable.
	leastColumn = 8
	// wholeColumn is the widest column that is never narrowed while another can be
	// left out: times, ids and numbers fit, titles do not.
	wholeColumn = 12
)

func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = oneLine(c)
	}
	t.rows = append(t.rows, cells)
}

func (t *table) print(e *env) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	shown := t.shown(widths, e.width)
	if e.width > 0 {
		squeeze(widths, shown, e.width)
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		var b strings.Builder
		for _, i := range shown {
			cell := fit(row[i], widths[i])
			pad := strings.Repeat(" ", widths[i]-columns(cell))
			if slices.Contains(t.right, i) {
				b.WriteString(pad + cell + strings.Repeat(" ", columnGap))
			} else {
				b.WriteString(cell + pad + strings.Repeat(" ", columnGap))
			}
		}
		_, _ = fmt.Fprintln(e.out, strings.TrimRight(b.String(), " "))
	}
}

// shown returns the columns of the table that fit into a terminal that is total
// wide; 0 means all of them.
func (t *table) shown(widths []int, total int) (list []int) {
	need := -columnGap
	for i, w := range widths {
		list = append(list, i)
		need += columnGap + min(w, wholeColumn)
	}
	for _, i := range t.less {
		if total == 0 || need <= total {
			break
		}
		list = slices.DeleteFunc(list, func(j int) bool { return j == i })
		need -= columnGap + min(widths[i], wholeColumn)
	}
	return list
}

// squeeze narrows the widest of the shown columns until the row fits, or all are
// as narrow as leastColumn.
func squeeze(widths, shown []int, total int) {
	sum := columnGap * (len(shown) - 1)
	for _, i := range shown {
		sum += widths[i]
	}
	for ; sum > total; sum-- {
		widest := shown[0]
		for _, i := range shown {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= leastColumn {
			return
		}
		widths[widest]--
	}
}

// fit cuts s to width columns, between grapheme clusters.
func fit(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	var b strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		w := g.Width()
		if used+w > width-1 {
			break
		}
		used += w
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}

// oneLine makes text of strangers printable and removes line breaks.
func oneLine(s string) string { return strings.Join(strings.Fields(sessions.Printable(s)), " ") }

// when prints a time relative to now, or its date if that is two days away.
func (e *env) when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := e.now().Sub(t)
	ahead := d < 0
	if ahead {
		d = -d
	}
	var s string
	switch {
	case d < time.Minute:
		s = fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		s = fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		s = fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return t.Local().Format("2006-01-02 15:04")
	}
	if ahead {
		return "in " + s
	}
	return s + " ago"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func columns(s string) int { return uniseg.StringWidth(s) }
