package documents

import (
	"encoding/xml"
	"path"
	"strconv"
	"strings"
)

// readDocx reads the body, then the footnotes, endnotes and comments that it names.
// Headers and footers are left out: they would stand between sentences.
func readDocx(a *archive, out *output) error {
	parts, err := a.relations(a.main)
	if err != nil {
		return err
	}
	near := func(kind string) string { return of(parts, kind, path.Join(path.Dir(a.main), kind+".xml")) }
	t := &words{out: out}
	t.heading, err = headingStyles(a, near("styles"))
	if err != nil {
		return err
	}
	if err := a.tokens(a.main, lines(t)); err != nil {
		return err
	}
	for _, p := range []struct{ kind, item, mark string }{
		{"footnotes", "footnote", ""},
		{"endnotes", "endnote", "e"},
		{"comments", "comment", "comment "},
	} {
		if err := readNotes(a, out, near(p.kind), p.item, p.mark); err != nil {
			return err
		}
	}
	return nil
}

// words turns the text of Word's vocabulary into lines.
type words struct {
	out     *output
	heading map[string]int // levels by the ids of styles
	cells   []int          // by each open table: cells that began in the current row
	gap     bool           // a cell's next words are of another paragraph
}

func (t *words) begin(d *walker, e xml.StartElement) error {
	switch e.Name.Local {
	case "Fallback", "moveFrom", "delText", "instrText", "sectPr", "rPr", "tabs": // said twice, moved, deleted, a field's code, looks
		return errSkip
	case "t":
		text, err := d.text()
		t.say(text)
		return err
	case "tab":
		t.tab()
	case "br", "cr":
		return t.breakLine()
	case "noBreakHyphen":
		t.out.say("-")
	case "pStyle":
		if level := t.heading[attr(e, "val")]; level > 0 {
			t.out.apart()
			t.out.say(strings.Repeat("#", level) + " ")
		}
	case "numId": // of a list; headings have their own sign
		if attr(e, "val") != "0" && t.out.line.Len() == 0 {
			t.out.say("- ")
		}
	case "footnoteReference":
		t.out.say("[" + attr(e, "id") + "]")
	case "endnoteReference":
		t.out.say("[e" + attr(e, "id") + "]")
	case "commentReference":
		t.out.say("[comment " + attr(e, "id") + "]")
	case "docPr": // a picture or a drawing
		if alt := attr(e, "descr"); alt != "" {
			t.out.say("[image: " + alt + "]")
		}
	case "tbl":
		t.out.apart()
		t.cells = append(t.cells, 0)
	case "tc":
		t.cell()
	}
	return nil
}

func (t *words) end(name string) error {
	switch name {
	case "p":
		if len(t.cells) == 0 {
			return t.out.end()
		}
		t.gap = true // a cell's paragraphs share its line
	case "tr":
		return t.endRow()
	case "tbl":
		if len(t.cells) > 0 {
			t.cells = t.cells[:len(t.cells)-1]
		}
		t.out.apart()
	}
	return nil
}

// endRow ends the line of a row. The rows of a table within a cell share the cell's.
func (t *words) endRow() error {
	n := len(t.cells)
	t.gap = false
	if n > 0 {
		t.cells[n-1] = 0
	}
	if n > 1 {
		t.out.say("; ")
		return nil
	}
	return t.out.end()
}

// cell parts the cells of a row.
func (t *words) cell() {
	n := len(t.cells)
	if n == 0 {
		return
	}
	t.gap = false
	if t.cells[n-1] > 0 {
		t.out.say("\t")
	}
	t.cells[n-1]++
}

// breakLine ends a line within a paragraph. In a table it is a space.
func (t *words) breakLine() error {
	if len(t.cells) > 0 {
		t.gap = true
		return nil
	}
	return t.out.end()
}

// tab is a space in a table, whose cells are parted by tabs.
func (t *words) tab() {
	if len(t.cells) > 0 {
		t.gap = true
		return
	}
	t.out.say("\t")
}

// say writes words, and the space that may belong before them.
func (t *words) say(text string) {
	if t.gap {
		t.out.say(" ")
		t.gap = false
	}
	t.out.say(text)
}

// headingStyles returns the levels of headings by the ids of their styles. The level
// is what the style says of outlines, or its name: "heading 2".
func headingStyles(a *archive, part string) (map[string]int, error) {
	levels := map[string]int{}
	if !a.has(part) {
		return levels, nil
	}
	id := ""
	err := a.walk(part, func(_ *walker, e xml.StartElement) error {
		switch e.Name.Local {
		case "style":
			id = attr(e, "styleId")
		case "name":
			number, ok := strings.CutPrefix(strings.ToLower(attr(e, "val")), "heading ")
			if level, err := strconv.Atoi(number); ok && err == nil {
				levels[id] = level
			}
		case "outlineLvl":
			if level, err := strconv.Atoi(attr(e, "val")); err == nil {
				levels[id] = level + 1
			}
		}
		return nil
	})
	for id, level := range levels {
		if level < 1 || level > 9 {
			delete(levels, id) // 10 is body text
		}
	}
	return levels, err
}

// readNotes reads a part of notes: each is one paragraph with its number, and in
// comments with the name of who wrote it.
func readNotes(a *archive, out *output, part, item, mark string) error {
	if !a.has(part) {
		return nil
	}
	return a.walk(part, func(d *walker, e xml.StartElement) error {
		kind := attr(e, "type")
		if e.Name.Local != item || kind == "separator" || kind == "continuationSeparator" || kind == "continuationNotice" {
			return nil
		}
		out.apart()
		head := "[" + mark + attr(e, "id")
		if author := attr(e, "author"); author != "" {
			head += " by " + author
		}
		out.say(head + "]")
		t := &words{out: out, cells: []int{0}, gap: true} // all on one line
		if err := d.within(func(token xml.Token) error { return lines(t)(d, token) }); err != nil {
			return err
		}
		return out.end()
	})
}
