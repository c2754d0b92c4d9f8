package botapi

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Entity is a formatted or special part of a text; offsets count UTF-16 units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	User     *User  `json:"user,omitempty"`
	Language string `json:"language,omitempty"`
}

// entityOf maps the tags that the network knows to what they mean.
var entityOf = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "span": "spoiler",
	"a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote",
}

// refused is why the network cannot parse something, in its own words.
type refused string

func (r refused) Error() string { return string(r) }

func refusal(format string, args ...any) error { return refused(fmt.Sprintf(format, args...)) }

// openTag is a start tag whose end has not come.
type openTag struct {
	name, argument string
	at             int // UTF-16 units before it
}

// htmlParser reads the network's HTML: a few tags, four named entities,
// numeric ones, and nothing left open.
type htmlParser struct {
	in    string
	pos   int
	text  strings.Builder
	units int
	open  []openTag
	found []Entity
}

// parseHTML returns the visible text and its entities. The error's text is
// what the network says after "Bad Request: ".
func parseHTML(in string) (string, []Entity, error) {
	p := &htmlParser{in: in}
	for p.pos < len(in) {
		var err error
		switch in[p.pos] {
		case '<':
			err = p.tag()
		case '&':
			p.reference()
		default:
			_, size := utf8.DecodeRuneInString(in[p.pos:])
			p.write(in[p.pos : p.pos+size])
			p.pos += size
		}
		if err != nil {
			return "", nil, fmt.Errorf("can't parse entities: %w", err)
		}
	}
	if n := len(p.open); n > 0 {
		return "", nil, fmt.Errorf("can't parse entities: Can't find end tag corresponding to start tag %q", p.open[n-1].name)
	}
	return p.text.String(), p.found, nil
}

func (p *htmlParser) write(s string) {
	p.text.WriteString(s)
	p.units += units(s)
}

// units is the length in UTF-16 units, the network's measure.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// reference copies &lt; and the like as what they stand for. Unknown ones
// stay as they are.
func (p *htmlParser) reference() {
	end := strings.IndexByte(p.in[p.pos:], ';')
	if end < 0 || end > 10 {
		p.write("&")
		p.pos++
		return
	}
	name := p.in[p.pos+1 : p.pos+end]
	char, known := map[string]string{"lt": "<", "gt": ">", "amp": "&", "quot": `"`}[name]
	if digits, numeric := strings.CutPrefix(name, "#"); numeric {
		base := 10
		if hex, is := strings.CutPrefix(digits, "x"); is {
			digits, base = hex, 16
		}
		if n, err := strconv.ParseUint(digits, base, 21); err == nil && n > 0 {
			char, known = string(rune(n)), true
		}
	}
	if !known {
		p.write("&")
		p.pos++
		return
	}
	p.write(char)
	p.pos += end + 1
}

func (p *htmlParser) tag() error {
	start := p.pos
	end := strings.IndexByte(p.in[start:], '>')
	if end < 0 {
		return refusal("Unclosed start tag at byte offset %d", start)
	}
	body := p.in[start+1 : start+end]
	p.pos = start + end + 1
	if name, closing := strings.CutPrefix(body, "/"); closing {
		return p.endTag(strings.ToLower(strings.TrimSpace(name)), start)
	}
	name, rest, _ := strings.Cut(body, " ")
	name = strings.ToLower(name)
	if entityOf[name] == "" {
		return refusal("Unsupported start tag %q at byte offset %d", name, start)
	}
	for _, o := range p.open {
		if o.name == "blockquote" && name == "blockquote" {
			return refusal("Nested blockquote at byte offset %d", start)
		}
	}
	argument := ""
	rest = strings.TrimSpace(rest)
	if rest != "" {
		key, value, ok := strings.Cut(rest, "=")
		value = strings.Trim(value, `"`)
		wanted := map[string]string{"a": "href", "code": "class", "span": "class"}[name]
		if rest == "expandable" && name == "blockquote" {
			ok = true
			key = ""
			wanted = ""
			value = "expandable"
		}
		if !ok || key != wanted {
			return refusal("Unexpected attribute in the tag %q at byte offset %d", name, start)
		}
		argument = unescape(value)
	}
	p.open = append(p.open, openTag{name, argument, p.units})
	return nil
}

func (p *htmlParser) endTag(name string, at int) error {
	if len(p.open) == 0 {
		return refusal("Unexpected end tag at byte offset %d", at)
	}
	o := p.open[len(p.open)-1]
	if name != "" && name != o.name {
		return refusal("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", at, o.name, name)
	}
	p.open = p.open[:len(p.open)-1]
	if p.units == o.at {
		return nil // the network drops empty entities
	}
	e := Entity{Type: entityOf[o.name], Offset: o.at, Length: p.units - o.at}
	switch o.name {
	case "blockquote":
		if o.argument != "" {
			e.Type = "expandable_blockquote"
		}
	case "a":
		e.URL = o.argument
	case "code":
		e.Language = strings.TrimPrefix(o.argument, "language-")
	}
	p.found = append(p.found, e)
	return nil
}

func unescape(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&").Replace(s)
}

// clean does to a text what the network does to all of them: control
// characters become spaces, carriage returns vanish.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r >= 0x2028 && r <= 0x202e:
			return -1
		case r < ' ' && r != '\n':
			return ' '
		}
		return r
	}, s)
}

// detect finds what the network marks by itself in a person's text: mentions
// and commands.
func detect(text string) []Entity {
	var found []Entity
	for i := 0; i < len(text); i++ {
		kind := map[byte]string{'@': "mention", '/': "bot_command"}[text[i]]
		if kind == "" || i > 0 && !strings.ContainsRune(" \n\t(", rune(text[i-1])) {
			continue
		}
		end := i + 1
		for end < len(text) && (wordByte(text[end]) || kind == "bot_command" && text[end] == '@') {
			end++
		}
		if end-i < 2 {
			continue
		}
		found = append(found, Entity{Type: kind, Offset: units(text[:i]), Length: units(text[i:end])})
		i = end - 1
	}
	return found
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Visible is what people see of a text in the network's HTML, or why the
// network would refuse it.
func Visible(html string) (string, error) {
	text, _, err := parseHTML(html)
	return text, err
}
