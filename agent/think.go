package agent

import "strings"

// Local models write their reasoning into the content, as a block at its start.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// unthink finds the visible text in content that comes piece by piece.
type unthink struct {
	raw strings.Builder
	// from is where the part of raw begins that is not decided yet.
	from     int
	thinking bool // in a block
	visible  bool // past all blocks: the rest is text
}

// add takes the next piece and returns the whole visible text so far.
func (u *unthink) add(piece string) string {
	// A closing tag may have begun in an earlier piece.
	search := max(u.from, u.raw.Len()-len(thinkClose))
	u.raw.WriteString(piece)
	raw := u.raw.String()
	for !u.visible {
		if u.thinking {
			i := strings.Index(raw[max(search, u.from):], thinkClose)
			if i < 0 {
				return ""
			}
			u.from = max(search, u.from) + i + len(thinkClose)
			u.thinking = false
		}
		rest := strings.TrimLeft(raw[u.from:], " \t\r\n")
		switch {
		case strings.HasPrefix(thinkOpen, rest):
			u.thinking = rest == thinkOpen
			if u.thinking {
				u.from = len(raw)
			}
			return ""
		case strings.HasPrefix(rest, thinkOpen):
			u.from = len(raw) - len(rest) + len(thinkOpen)
			u.thinking = true
		default:
			u.from = len(raw) - len(rest)
			u.visible = true
		}
	}
	return raw[u.from:]
}

// visibleText is what of a whole answer is for the person.
func visibleText(content string) string {
	var u unthink
	text := u.add(content)
	if !u.visible && !u.thinking {
		text = content[u.from:] // the beginning of a tag that never came
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
}
