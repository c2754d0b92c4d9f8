package documents

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"time"
)

// form is how a spreadsheet shows a number.
type form int

const (
	plainForm form = iota
	dateForm
	timeForm
	dateTimeForm
	durationForm
	percentForm
)

// finite reads a number. Not a number, and infinity, are none.
func finite(text string) (n float64, is bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// mostDays is where a spreadsheet's time ends: its last day is in the year 9999.
const mostDays = 2_958_466

// show writes a number in this form. Dates are ISO 8601, whatever the sheet's
// country. Numbers have at most 15 digits, as the programs show them. n is finite.
func (f form) show(n float64, since1904 bool) string {
	switch {
	case f == percentForm:
		return strconv.FormatFloat(n*100, 'g', 15, 64) + "%"
	case f == plainForm || math.Abs(n) >= mostDays:
	case f == durationForm:
		seconds := int64(math.Round(n * 86_400))
		sign := ""
		if seconds < 0 {
			sign = "-"
			seconds = -seconds
		}
		return sign + strconv.FormatInt(seconds/3600, 10) + time.Unix(seconds%3600, 0).UTC().Format(":04:05")
	case n >= 0:
		return f.moment(n, since1904)
	}
	text := strconv.FormatFloat(n, 'g', 15, 64)
	if strings.ContainsRune(text, 'e') && math.Abs(n) < 1e21 && math.Abs(n) >= 1e-9 {
		text = strconv.FormatFloat(n, 'f', -1, 64)
	}
	return text
}

// moment: a day is 1, and the first one is the last of the year 1899, or the first of
// 1904. The first form has a day that never was, the 29th of February 1900, number 60:
// the numbers before it are one day off.
func (f form) moment(n float64, since1904 bool) string {
	day := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case since1904:
		day = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case n < 60:
		day = day.AddDate(0, 0, 1)
	}
	whole := math.Floor(n)
	at := day.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round((n-whole)*86_400)) * time.Second)
	midnight := at.Hour() == 0 && at.Minute() == 0 && at.Second() == 0
	switch {
	case f == timeForm && n < 1:
		return at.Format("15:04:05")
	case f == dateForm || midnight:
		return at.Format("2006-01-02")
	}
	return at.Format("2006-01-02 15:04:05")
}

// readStyles reads the forms of a workbook's cells: each style names the number of a
// form, which is one of those that every workbook has, or one that it declares.
func (b *book) readStyles(a *archive, part string) error {
	if !a.has(part) {
		return nil
	}
	declared := map[int]form{}
	within := false // the list of the cells' styles, and not that of named ones
	return a.walk(part, func(_ *walker, e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			id, err := strconv.Atoi(attr(e, "numFmtId"))
			if err == nil {
				declared[id] = formOf(attr(e, "formatCode"))
			}
		case "cellXfs":
			within = true
		case "cellStyleXfs", "cellStyles", "dxfs":
			within = false
		case "xf":
			if !within {
				return nil
			}
			id, _ := strconv.Atoi(attr(e, "numFmtId"))
			as, ok := declared[id]
			if !ok {
				as = known(id)
			}
			b.styles = append(b.styles, as)
		}
		return nil
	})
}

// known are the forms that every workbook has (ECMA-376, part 1, 18.8.30; 27 to 36 and
// 50 to 58 are dates in East Asia).
func known(id int) form {
	switch {
	case id == 9 || id == 10:
		return percentForm
	case id >= 14 && id <= 17 || id >= 27 && id <= 36 || id >= 50 && id <= 58:
		return dateForm
	case id >= 18 && id <= 21 || id == 45 || id == 47:
		return timeForm
	case id == 22:
		return dateTimeForm
	case id == 46:
		return durationForm
	}
	return plainForm
}

// formOf reads a declared form, like `[$-407]d. mmmm yyyy;@` or `[h]:mm`. Only the
// first of its parts counts, the one for positive numbers.
func formOf(code string) form {
	code, _, _ = strings.Cut(unquoted(code), ";")
	code = strings.ToLower(code)
	for _, elapsed := range []string{"[h]", "[hh]", "[m]", "[mm]", "[s]", "[ss]"} {
		if strings.Contains(code, elapsed) {
			return durationForm
		}
	}
	for strings.Contains(code, "[") { // a colour, a language, a condition
		before, rest, _ := strings.Cut(code, "[")
		_, after, _ := strings.Cut(rest, "]")
		code = before + after
	}
	date := strings.ContainsAny(code, "yd")
	clock := strings.ContainsAny(code, "hs")
	switch {
	case strings.Contains(code, "general"):
		return plainForm
	case date && clock:
		return dateTimeForm
	case clock:
		return timeForm
	case date || strings.Contains(code, "mmm"):
		return dateForm
	case strings.Contains(code, "%"):
		return percentForm
	}
	return plainForm
}

// unquoted leaves out what a form says literally: words in quotes, and the signs after
// a backslash, an underscore or an asterisk.
func unquoted(code string) string {
	var b strings.Builder
	quoted := false
	skip := false
	for _, c := range code {
		switch {
		case skip:
			skip = false
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\\' || c == '_' || c == '*':
			skip = true
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
