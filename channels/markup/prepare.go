package markup

import (
	"cmp"
	"strings"

	"dragoman/internal/lazily"
)

// prepare rewrites Markdown that would be lost or shown raw: links whose address is
// defined elsewhere, perhaps in another message; folded sections; and table cells beyond
// the columns of the head.
func prepare(md string) string {
	if !strings.ContainsAny(md, "|[<") {
		return md
	}
	md, formulas, _ := shielded(md)
	lines := strings.Split(md, "\n")
	code := inFences(lines)
	to := addresses(lines, code)
	columns := 0 // of the table that we are in
	for i, line := range lines {
		if code[i] {
			columns = 0
			continue
		}
		if shown := unfold(line); shown != line {
			line, columns = shown, 0
		}
		if len(to) > 0 {
			line = resolveReferences(line, to)
		}
		switch {
		case strings.TrimSpace(line) == "":
			columns = 0
		case columns > 0 && underline.Regexp().MatchString(line):
			line, columns = "\n"+line, 0 // else the parser moves the table before the text above it
		case columns > 0:
			line = joinSurplus(line, columns)
		case i > 0 && !code[i-1] && delimiterRow.Regexp().MatchString(line) && len(cellEnds(line)) == len(cellEnds(lines[i-1])):
			columns = len(cellEnds(line))
		}
		lines[i] = line
	}
	dropUsed(lines, code, to)
	return formulas.restore(strings.Join(lines, "\n"))
}

// underline matches a rule, or what makes the line before it a heading.
var underline = lazily.Compile(`^ {0,3}(-+|=+)[ \t]*$`)

// dropUsed removes the definitions whose addresses are now in the links.
func dropUsed(lines []string, code []bool, to map[string]*address) {
	for i, line := range lines {
		m := definition.Regexp().FindStringSubmatch(line)
		if code[i] || m == nil {
			continue
		}
		if a := to[label(m[1])]; a != nil && a.uses > 0 && a.uses <= maxUses {
			lines[i] = ""
		}
	}
}

// inFences reports for each line whether it is in a code block, with the lines
// that open and close it. Nothing there is Markdown.
func inFences(lines []string) []bool {
	in := make([]bool, len(lines))
	var open *fence
	for i, line := range lines {
		if open == nil {
			open = fenceOf(line)
			in[i] = open != nil
		} else {
			in[i] = true
			if open.closes(line) {
				open = nil
			}
		}
	}
	return in
}

// address is the target of the links with one label.
type address struct {
	to, title string
	uses      int
}

// maxUses bounds how often an address is written out. A short text that uses a
// long one a thousand times must not become megabytes.
const maxUses = 50

// definition matches a line like `[1]: https://a.example "Title"`, but no footnote.
var definition = lazily.Compile(`^ {0,3}\[([^\[\]^][^\[\]]*)\]:[ \t]*<?([a-zA-Z][a-zA-Z0-9+.-]*://[^\s<>]+)>?(?:[ \t]+["'(]([^"]*)["')])?[ \t]*$`)

func label(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

func addresses(lines []string, code []bool) map[string]*address {
	to := map[string]*address{}
	for i, line := range lines {
		if m := definition.Regexp().FindStringSubmatch(line); !code[i] && m != nil && to[label(m[1])] == nil {
			to[label(m[1])] = &address{to: m[2], title: m[3]}
		}
	}
	return to
}

// reference matches code in a line, or words in brackets with or without a label.
var reference = lazily.Compile("`+[^`]*`+" + `|\[([^\[\]]+)\](?:\[([^\[\]]*)\])?`)

// resolveReferences replaces [words][label] by [words](address), because a text is
// cut into messages, and the definition may be in another one.
func resolveReferences(line string, to map[string]*address) string {
	if definition.Regexp().MatchString(line) {
		return line
	}
	var b strings.Builder
	done := 0
	for _, at := range reference.Regexp().FindAllStringSubmatchIndex(line, -1) {
		if at[2] < 0 {
			continue
		}
		words, name := line[at[2]:at[3]], ""
		if at[4] >= 0 {
			name = line[at[4]:at[5]]
		} else if strings.HasPrefix(line[at[1]:], "(") || strings.HasPrefix(line[at[1]:], ":") {
			continue
		}
		target := to[label(cmp.Or(name, words))]
		if target == nil {
			continue
		}
		target.uses++
		if target.uses > maxUses {
			continue
		}
		b.WriteString(line[done:at[0]] + "[" + words + "](<" + target.to + ">")
		if target.title != "" {
			b.WriteString(` "` + target.title + `"`)
		}
		b.WriteString(")")
		done = at[1]
	}
	b.WriteString(line[done:])
	return b.String()
}

var (
	foldTag = lazily.Compile(`(?i)^[ \t]*</?(?:details|summary)\b`)
	summary = lazily.Compile(`(?i)<summary>[ \t]*(.+?)[ \t]*</summary>`)
	details = lazily.Compile(`(?i)</?details(?: open)?>`)
)

// unfold shows a section that a web page would fold, because chats cannot fold.
func unfold(line string) string {
	if !foldTag.Regexp().MatchString(line) {
		return line
	}
	return summary.Regexp().ReplaceAllString(details.Regexp().ReplaceAllString(line, ""), "\n**$1**\n")
}

// cellEnds returns the index of each bar that ends a cell. A bar after a backslash
// is text.
func cellEnds(row string) []int {
	from, to := 0, len(strings.TrimRight(row, " \t"))
	if trimmed := strings.TrimLeft(row, " \t"); strings.HasPrefix(trimmed, "|") {
		from = len(row) - len(trimmed) + 1
	}
	var ends []int
	for i := from; i < to; i++ {
		switch row[i] {
		case '\\':
			i++
		case '|':
			ends = append(ends, i)
		}
	}
	if len(ends) == 0 || ends[len(ends)-1] != to-1 {
		ends = append(ends, to)
	}
	return ends
}

// joinSurplus appends the cells beyond the last column to the last cell.
func joinSurplus(row string, columns int) string {
	ends := cellEnds(row)
	if len(ends) <= columns {
		return row
	}
	var b strings.Builder
	done := 0
	for _, end := range ends[columns-1 : len(ends)-1] {
		b.WriteString(row[done:end] + `\`)
		done = end
	}
	b.WriteString(row[done:])
	return b.String()
}
