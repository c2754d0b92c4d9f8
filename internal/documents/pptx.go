package documents

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// readPptx reads the slides in the order of the presentation, each with its notes.
func readPptx(a *archive, out *output) error {
	parts, err := a.relations(a.main)
	if err != nil {
		return err
	}
	var slides []string
	err = a.walk(a.main, func(_ *walker, e xml.StartElement) error {
		if e.Name.Local == "sldId" {
			slides = append(slides, parts[relationID(e)].part)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, slide := range slides {
		if err := readSlide(a, out, slide, i+1); err != nil {
			return err
		}
	}
	return nil
}

func readSlide(a *archive, out *output, part string, number int) error {
	out.apart()
	if err := out.whole(fmt.Sprintf("## Slide %d", number)); err != nil {
		return err
	}
	d := &drawing{out: out}
	if err := a.tokens(part, lines(d)); err != nil {
		return err
	}
	more, err := a.relations(part)
	if err != nil {
		return err
	}
	var notes []string
	for _, r := range more {
		if r.kind == "notesSlide" && a.has(r.part) {
			notes = append(notes, r.part)
		}
	}
	slices.Sort(notes)
	for _, n := range notes {
		d := &drawing{out: out, notes: true}
		if err := a.tokens(n, lines(d)); err != nil {
			return err
		}
	}
	return nil
}

// drawing turns the text of slides into lines: a line a paragraph, and in tables a
// line a row.
type drawing struct {
	out   *output
	notes bool // only the speaker's notes, not the number of the page beside them
	said  bool // the word "Notes"
	row   bool // within a row of a table
	gap   bool // a cell's next words are of another paragraph
	cells int
}

func (t *drawing) begin(d *walker, e xml.StartElement) error {
	switch e.Name.Local {
	case "Fallback":
		return errSkip
	case "fld": // the number of the slide, today's date
		if strings.HasPrefix(attr(e, "type"), "slidenum") {
			return errSkip
		}
	case "t":
		text, err := d.text()
		if t.notes && !t.said && strings.TrimSpace(text) != "" {
			t.out.say("Notes: ")
			t.said = true
		}
		if t.gap {
			t.out.say(" ")
			t.gap = false
		}
		t.out.say(text)
		return err
	case "br":
		if !t.row {
			return t.out.end()
		}
		t.gap = true
	case "cNvPr":
		if alt := attr(e, "descr"); alt != "" {
			return t.out.whole("[image: " + alt + "]")
		}
	case "tr":
		t.row, t.cells = true, 0
	case "tc":
		t.gap = false
		if t.cells > 0 {
			t.out.say("\t")
		}
		t.cells++
	}
	return nil
}

func (t *drawing) end(name string) error {
	switch name {
	case "p":
		if !t.row {
			return t.out.end()
		}
		t.gap = true
	case "tr":
		t.row = false
		return t.out.end()
	}
	return nil
}
