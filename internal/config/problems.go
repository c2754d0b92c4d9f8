package config

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Problem is one mistake or, as a warning, something doubtful.
type Problem struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // 0: not known
	Path string `json:"path,omitempty"` // "channels.telegram.allow[0]"
	// What is wrong, and in Want, what to write instead.
	What string `json:"what"`
	Want string `json:"want,omitempty"`
}

// String is one line: file, line, path, What and Want.
func (p Problem) String() string {
	text := p.File
	if text != "" && p.Line > 0 {
		text += ":" + strconv.Itoa(p.Line)
	}
	for _, part := range []string{p.Path, p.What} {
		if text != "" && part != "" {
			text += ": "
		}
		text += part
	}
	if p.Want != "" {
		text += "; " + p.Want
	}
	return text
}

// Problems is the error of Load: all mistakes, in the order of the file.
type Problems []Problem

// mostProblems keeps the list readable if the file is no configuration at all.
const mostProblems = 100

// Error lists all problems, one a line.
func (ps Problems) Error() string {
	lines := []string{fmt.Sprintf("config: %d problems:", len(ps))}
	if len(ps) == 1 {
		lines[0] = "config: one problem:"
	}
	for i, p := range ps {
		if i == mostProblems {
			lines = append(lines, fmt.Sprintf("  and %d more", len(ps)-i))
			break
		}
		lines = append(lines, "  "+p.String())
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) sorted() Problems {
	sort.SliceStable(ps, func(i, j int) bool { return ps[i].Line < ps[j].Line })
	return ps
}

// nearest finds the candidate that word was probably meant to be, or "". It allows
// about one wrong letter in three, or any letters after a whole candidate, and prefers one
// that begins with word.
func nearest(word string, candidates []string) string {
	best, bestCost := "", min(len(word), 64)/3+2
	for _, c := range candidates {
		cost := distance(word, c)
		switch {
		case strings.HasPrefix(c, word) && len(word) >= 3:
			cost-- // "mode" is model and not node
		case strings.HasPrefix(word, c) && len(c) >= 3:
			cost = min(cost, 1)
		}
		if cost < bestCost && cost < len(c) {
			best, bestCost = c, cost
		}
	}
	return best
}

// distance is the number of letters to insert, remove or change, and of neighbours to
// swap.
func distance(a, b string) int {
	before := make([]int, len(b)+1) // two rows up
	above := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range min(len(a), 64) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			change := above[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// oneOf is "a, b or c".
func oneOf(values []string) string {
	last := len(values) - 1
	if last < 1 {
		return strings.Join(values, "")
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
