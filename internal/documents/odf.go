package documents

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// How large a sheet can be. What repeats is cut where the text is.
const (
	mostRows    = 1_048_576
	mostColumns = 16_384
)

// readODF reads a text, a table or a presentation: they share one vocabulary.
func readODF(a *archive, out *output) error {
	if a.has("META-INF/manifest.xml") {
		if err := unlocked(a); err != nil {
			return err
		}
	}
	o := &opened{out: out}
	return a.tokens("content.xml", lines(o))
}

// unlocked returns ErrLocked if the list of parts says how they are encrypted.
func unlocked(a *archive) error {
	return a.walk("META-INF/manifest.xml", func(_ *walker, e xml.StartElement) error {
		if e.Name.Local == "encryption-data" {
			return ErrLocked
		}
		return nil
	})
}

// opened turns OpenDocument's vocabulary into lines.
type opened struct {
	out    *output
	slides int
	lists  int // lists within one another
	sheet  bool
}

func (o *opened) end(name string) error {
	switch name {
	case "list":
		o.lists--
	case "table":
		o.out.apart()
	}
	return nil
}

func (o *opened) begin(d *walker, e xml.StartElement) error {
	switch e.Name.Local {
	case "tracked-changes", "forms", "automatic-styles", "font-face-decls", "styles", "shapes":
		return errSkip
	case "spreadsheet":
		o.sheet = true
	case "page": // of a presentation
		if e.Name.Space == "draw" {
			o.slides++
			o.out.apart()
			return o.out.whole(fmt.Sprintf("## Slide %d", o.slides))
		}
	case "notes":
		o.out.say("Notes: ")
	case "list":
		o.lists++
	case "h":
		o.out.apart()
		level, _ := strconv.Atoi(attr(e, "outline-level"))
		o.out.say(strings.Repeat("#", min(max(level, 1), 9)) + " ")
		return o.paragraph(d)
	case "p":
		if o.lists > 0 {
			o.out.say("- ")
		}
		return o.paragraph(d)
	case "table":
		o.out.apart()
		if o.sheet {
			return o.out.whole("## Sheet: " + attr(e, "name"))
		}
	case "table-row":
		return o.row(d, e)
	}
	return nil
}

// paragraph writes the words of the paragraph that has just begun as a line.
func (o *opened) paragraph(d *walker) error {
	text, err := runs(d)
	if err != nil {
		return err
	}
	o.out.say(text)
	return o.out.end()
}

// runs returns the words of an element, with its notes and comments in brackets.
func runs(d *walker) (string, error) {
	var b strings.Builder
	err := d.within(func(t xml.Token) error {
		switch e := t.(type) {
		case xml.CharData:
			b.Write(e)
		case xml.StartElement:
			return run(d, e, &b)
		}
		return nil
	})
	return b.String(), err
}

// run writes what an element within a paragraph stands for.
func run(d *walker, e xml.StartElement, b *strings.Builder) error {
	switch e.Name.Local {
	case "s":
		count, _ := strconv.Atoi(attr(e, "c"))
		b.WriteString(strings.Repeat(" ", min(max(count, 1), 80)))
	case "tab":
		b.WriteByte('\t')
	case "line-break":
		b.WriteByte(' ')
	case "note-citation", "ruby-text", "image":
		return errSkip
	case "creator", "date", "sender-initials", "creator-initials":
		if e.Name.Space != "text" { // of a comment, and not a field of the text
			return errSkip
		}
	case "desc":
		text, err := d.text()
		b.WriteString("[image: " + text + "]")
		return err
	case "note", "annotation":
		text, err := runs(d)
		name := map[string]string{"note": "note", "annotation": "comment"}[e.Name.Local]
		b.WriteString(" [" + name + ": " + strings.TrimSpace(text) + "]")
		return err
	}
	return nil
}

// row writes a row of a table: tabs between the cells of a text, CSV in a sheet.
func (o *opened) row(d *walker, row xml.StartElement) error {
	var cells []string
	empty := 0 // cells since the last one with a value: most rows end with thousands
	err := d.within(func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		if !ok || e.Name.Local != "table-cell" && e.Name.Local != "covered-table-cell" {
			return nil
		}
		value, err := o.cell(d, e)
		times := repeats(e, "number-columns-repeated", mostColumns)
		if value == "" {
			empty = min(empty+times, mostColumns)
			return err
		}
		cells = append(cells, make([]string, min(empty, mostColumns-len(cells)))...)
		empty = 0
		for range min(times, mostColumns-len(cells)) {
			cells = append(cells, value)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(cells) == 0 {
		return nil
	}
	for range repeats(row, "number-rows-repeated", mostRows) {
		if err := o.line(cells); err != nil {
			return err
		}
	}
	return nil
}

func (o *opened) line(cells []string) error {
	line := csvLine{out: o.out}
	for i, value := range cells {
		switch {
		case o.out.full():
			return o.out.end()
		case o.sheet:
			line.put(i, value)
		case i > 0:
			o.out.say("\t")
			o.out.say(value)
		default:
			o.out.say(value)
		}
	}
	return o.out.end()
}

// repeats reads how often something is there.
func repeats(e xml.StartElement, name string, most int) int {
	n, err := strconv.Atoi(attr(e, name))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, most)
}

// cell returns what a cell says. Numbers and dates of a sheet come from the value
// itself, which is the same in each country.
func (o *opened) cell(d *walker, e xml.StartElement) (string, error) {
	shown, err := cellText(d)
	if err != nil || !o.sheet {
		return shown, err
	}
	value := attr(e, "value")
	switch attr(e, "value-type") {
	case "float":
		return plainNumber(value, shown), nil
	case "percentage":
		n, is := finite(value)
		if !is {
			return shown, nil
		}
		return percentForm.show(n, false), nil
	case "currency":
		return strings.TrimSpace(plainNumber(value, shown) + " " + attr(e, "currency")), nil
	case "boolean":
		return strings.ToUpper(attr(e, "boolean-value")), nil
	case "date":
		return strings.Replace(attr(e, "date-value"), "T", " ", 1), nil
	}
	return shown, nil
}

func plainNumber(value, otherwise string) string {
	n, is := finite(value)
	if !is {
		return otherwise
	}
	return plainForm.show(n, false)
}

// cellText joins the paragraphs of a cell.
func cellText(d *walker) (string, error) {
	var parts []string
	err := d.within(func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
			return nil
		case e.Name.Local == "annotation":
			text, err := runs(d)
			parts = append(parts, "[comment: "+strings.TrimSpace(text)+"]")
			return err
		case e.Name.Local == "p" || e.Name.Local == "h":
			text, err := runs(d)
			parts = append(parts, text)
			return err
		}
		return nil
	})
	return strings.TrimSpace(strings.Join(parts, " ")), err
}
