package telegram

import (
	"cmp"
	"slices"
	"strings"

	"dragoman/channels/markup"

	"github.com/go-telegram/bot/models"
)

// cut is a part of a text, in bytes, that is left out; the zero value is none.
type cut struct{ from, to int }

// mark is an entity as Markdown: what stands before and after its words.
type mark struct {
	start, end    int // in bytes
	before, after string
	verbatim      bool // no other markup inside
	quote         bool // before also begins each further line
}

// markdown returns text with its entities as Markdown, so that nothing that the sender
// sees is hidden from the model: the address of a link, code, a quotation. It leaves out
// the part c. A command has no markup, because it would no longer be one.
func markdown(text string, entities []models.MessageEntity, c cut) string {
	p := &pencil{marks: marksOf(text, entities, max(commandEnd(text, entities), c.to))}
	for i, r := range text {
		p.reach(i)
		if i < c.from || i >= c.to {
			p.write(string(r))
		}
	}
	p.reach(len(text))
	return p.b.String()
}

// pencil writes a text from its beginning to its end.
type pencil struct {
	b     strings.Builder
	marks []mark // those that have not begun, in order
	open  []mark // outer ones first
}

// reach ends and begins the marks at byte i.
func (p *pencil) reach(i int) {
	for n := len(p.open) - 1; n >= 0 && p.open[n].end <= i; n-- {
		ended := p.open[n]
		p.open = p.open[:n]
		p.write(ended.after)
	}
	for len(p.marks) > 0 && p.marks[0].start <= i {
		m := p.marks[0]
		p.marks = p.marks[1:]
		if m.start == i && fits(p.open, m) {
			p.write(m.before)
			p.open = append(p.open, m)
		}
	}
}

// write adds s. Each line of a quotation begins with its sign; none ends with a break.
func (p *pencil) write(s string) {
	for _, o := range p.open {
		if o.quote {
			s = strings.ReplaceAll(s, "\n", "\n"+o.before)
		}
	}
	p.b.WriteString(s)
}

// fits reports whether m may begin inside of the open marks: it ends before they do, and
// none of them is code.
func fits(open []mark, m mark) bool {
	if len(open) == 0 {
		return true
	}
	inner := open[len(open)-1]
	return m.end <= inner.end && !inner.verbatim
}

// commandEnd is where the command at the beginning of text ends, or 0.
func commandEnd(text string, entities []models.MessageEntity) int {
	for _, e := range entities {
		start, end, ok := span(text, e.Offset, e.Length)
		if ok && start == 0 && e.Type == models.MessageEntityTypeBotCommand {
			return end
		}
	}
	return 0
}

// marksOf are the entities that have a form in Markdown, outer ones first. They begin at
// byte from at the earliest.
func marksOf(text string, entities []models.MessageEntity, from int) []mark {
	var marks []mark
	for _, e := range entities {
		start, end, ok := span(text, e.Offset, e.Length)
		if !ok {
			continue
		}
		start = max(start, from)
		if start >= end {
			continue
		}
		words := text[start:end]
		if e.Type != models.MessageEntityTypePre {
			// Markup must touch its words.
			trimmed := strings.TrimLeft(words, " \t\n")
			start += len(words) - len(trimmed)
			end = start + len(strings.TrimRight(trimmed, " \t\n"))
			words = text[start:end]
		}
		if m, has := markOf(e, words); has && start < end {
			m.start = start
			m.end = end
			if e.Type == models.MessageEntityTypePre {
				m = onOwnLines(m, text)
			}
			marks = append(marks, m)
		}
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	return marks
}

// markOf is the mark of an entity on words; false if Markdown has none for it.
func markOf(e models.MessageEntity, words string) (mark, bool) {
	pair := func(sign string) (mark, bool) { return mark{before: sign, after: sign}, true }
	switch e.Type {
	case models.MessageEntityTypeTextLink:
		address := markup.Line(e.URL)
		if address == "" || address == words {
			return mark{}, false
		}
		if strings.ContainsAny(address, " ()<>") {
			address = "<" + strings.NewReplacer("<", "%3C", ">", "%3E").Replace(address) + ">"
		}
		return mark{before: "[", after: "](" + address + ")"}, true
	case models.MessageEntityTypeBold:
		return pair("**")
	case models.MessageEntityTypeItalic:
		return pair("*")
	case models.MessageEntityTypeStrikethrough:
		return pair("~~")
	case models.MessageEntityTypeSpoiler:
		return pair("||")
	case models.MessageEntityTypeBlockquote, models.MessageEntityTypeExpandableBlockquote:
		return mark{before: "> ", quote: true}, true
	case models.MessageEntityTypeCode:
		sign := longerThan(words, 0)
		m := mark{before: sign, after: sign, verbatim: true}
		if strings.HasPrefix(words, "`") || strings.HasSuffix(words, "`") {
			m.before += " "
			m.after = " " + m.after
		}
		return m, true
	case models.MessageEntityTypePre:
		fence := longerThan(words, 2)
		return mark{before: fence + markup.Line(e.Language) + "\n", after: "\n" + fence, verbatim: true}, true
	}
	return mark{}, false
}

// onOwnLines puts the fences of a code block on lines of their own.
func onOwnLines(m mark, text string) mark {
	if m.start > 0 && text[m.start-1] != '\n' {
		m.before = "\n" + m.before
	}
	if strings.HasSuffix(text[m.start:m.end], "\n") {
		m.after = strings.TrimPrefix(m.after, "\n")
	}
	if m.end < len(text) && text[m.end] != '\n' {
		m.after += "\n"
	}
	return m
}

// longerThan is a row of backticks that is longer than every one in words, and than least.
func longerThan(words string, least int) string {
	sign := strings.Repeat("`", least+1)
	for strings.Contains(words, sign) {
		sign += "`"
	}
	return sign
}

// buttonLinks are the addresses behind the buttons under a message, each on a line. A post
// of a channel often has its link only there.
func buttonLinks(m *models.Message) string {
	if m.ReplyMarkup == nil {
		return ""
	}
	var b strings.Builder
	for _, row := range m.ReplyMarkup.InlineKeyboard {
		for _, button := range row {
			if button.URL != "" {
				b.WriteString("\n[" + oneLine(button.Text) + "](" + markup.Line(button.URL) + ")")
			}
		}
	}
	return b.String()
}
