package markup

import "strconv"

// Lead is the text that starts every line inside a quote or a list, on networks
// that show both in plain text. Its zero value is the outermost level.
type Lead string

// maxLead bounds the lead in bytes, so that deep lists stay readable. Deeper
// ones are indented no further.
const maxLead = 16

// Indent writes m with p if m is a quote or an item of a list: its sign ("> ",
// "- " or "3. "), then body with a longer lead. For every other kind it writes
// nothing and returns false.
func (l *Lead) Indent(m Mark, p Pen, body Body) bool {
	sign, rest := "- ", Lead("  ")
	switch {
	case m.Kind == Quote:
		sign, rest = "> ", "> "
	case m.Kind != Item:
		return false
	case m.Ordered:
		sign = strconv.Itoa(m.Number) + ". "
	}
	p.Words(sign)
	outer := *l
	if len(outer) < maxLead {
		*l += rest
	}
	body(p)
	*l = outer
	return true
}
