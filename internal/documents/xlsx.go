package documents

import (
	"encoding/xml"
	"path"
	"strconv"
	"strings"
)

// readXlsx reads the sheets in their order, as CSV.
func readXlsx(a *archive, out *output) error {
	parts, err := a.relations(a.main)
	if err != nil {
		return err
	}
	b := &book{out: out}
	type sheet struct {
		name string
		relation
	}
	var sheets []sheet
	err = a.walk(a.main, func(_ *walker, e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			said := attr(e, "date1904")
			b.since1904 = said == "1" || said == "true"
		case "sheet":
			name := attr(e, "name")
			if attr(e, "state") != "" && attr(e, "state") != "visible" {
				name += " (hidden)"
			}
			sheets = append(sheets, sheet{name, parts[relationID(e)]})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.readShared(a, of(parts, "sharedStrings", path.Join(path.Dir(a.main), "sharedStrings.xml"))); err != nil {
		return err
	}
	if err := b.readStyles(a, of(parts, "styles", path.Join(path.Dir(a.main), "styles.xml"))); err != nil {
		return err
	}
	for _, s := range sheets {
		if !a.has(s.part) || s.kind != "worksheet" {
			continue // a chart on a sheet of its own
		}
		out.apart()
		if err := out.whole("## Sheet: " + s.name); err != nil {
			return err
		}
		if err := a.walk(s.part, b.row); err != nil {
			return err
		}
	}
	return nil
}

// book is what the sheets of a workbook share.
type book struct {
	out       *output
	shared    []string
	styles    []form // by what a cell calls its style
	since1904 bool
}

// readShared reads the texts that cells name by number. What is told about how a text
// is spoken (rPh) is left out.
func (b *book) readShared(a *archive, part string) error {
	if !a.has(part) {
		return nil
	}
	return a.walk(part, func(d *walker, e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		text, err := richText(d)
		b.shared = append(b.shared, text)
		return err
	})
}

// richText joins the runs of a text.
func richText(d *walker) (string, error) {
	var text strings.Builder
	err := d.within(func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
			return nil
		case e.Name.Local == "rPh":
			return errSkip
		case e.Name.Local == "t":
			run, err := d.text()
			text.WriteString(run)
			return err
		}
		return nil
	})
	return text.String(), err
}

// row writes a row. Rows without any value are left out.
func (b *book) row(d *walker, e xml.StartElement) error {
	if e.Name.Local != "row" {
		return nil
	}
	line := csvLine{out: b.out}
	err := d.within(func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		if !ok || e.Name.Local != "c" {
			return nil
		}
		value, err := b.cell(d, e)
		line.put(column(attr(e, "r"), line.next), value)
		return err
	})
	if err != nil {
		return err
	}
	return b.out.end()
}

// cell returns what a cell shows. A formula shows its last result.
func (b *book) cell(d *walker, cell xml.StartElement) (string, error) {
	value := ""
	err := d.within(func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		if !ok {
			return nil
		}
		var err error
		switch e.Name.Local {
		case "f":
			return errSkip
		case "v":
			value, err = d.text()
		case "is":
			value, err = richText(d)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	switch attr(cell, "t") {
	case "s":
		i, err := strconv.Atoi(value)
		if err != nil || i < 0 || i >= len(b.shared) {
			return "[its text is missing]", nil
		}
		return b.shared[i], nil
	case "b":
		if value == "1" {
			return "TRUE", nil
		}
		return "FALSE", nil
	case "", "n":
		return b.number(value, attr(cell, "s")), nil
	}
	return value, nil // a text, an error like #DIV/0!, or a date in words
}

// number writes a number as its style says, as far as it makes another thing of it: a
// date, a time, a percentage.
func (b *book) number(value, style string) string {
	n, is := finite(value)
	if !is {
		return value
	}
	as := plainForm
	i, err := strconv.Atoi(style)
	if err == nil && i >= 0 && i < len(b.styles) {
		as = b.styles[i]
	}
	return as.show(n, b.since1904)
}

// column returns the place of a cell like "BC12" in its row, from 0. A cell may leave
// its name out; then it is the next one.
func column(name string, next int) int {
	n := 0
	for _, c := range name {
		if c < 'A' || c > 'Z' || n > mostColumns {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	if n == 0 || n > mostColumns {
		return next
	}
	return n - 1
}

// csvLine writes the cells of one row.
type csvLine struct {
	out  *output
	next int // the column after the last one that was written
}

// put writes a value into a column. Empty cells are commas before the next value.
func (l *csvLine) put(column int, value string) {
	if value == "" || column < l.next {
		return
	}
	commas := column - max(l.next-1, 0)
	l.out.say(strings.Repeat(",", commas))
	l.next = column + 1
	if strings.ContainsAny(value, ",\"\n\r\t") {
		value = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
	}
	l.out.say(value)
}
