package recap

import (
	"regexp"
	"strings"

	"dragoman/agent/output"
)

var (
	// calls are calls of tools that a model writes as text.
	calls = regexp.MustCompile(`(?is)<tool_calls?>.*?(?:</tool_calls?>|$)|<function(?:=|_call).*?(?:</function(?:_call)?>|$)|<invoke\b.*?(?:</invoke>|$)|(?:<\|python_tag\|>|\[TOOL_CALLS\]|<\|tool_calls?).*$|^\W*Action:.*?\nAction Input:.*$`)
	// callObject is how a call begins that is nothing but JSON, and
	// callExpression one in the manner of a program.
	callObject     = regexp.MustCompile(`(?is)^[\[\s]*\{\s*"(?:name|function|tool|tool_name|action|tool_calls|type"\s*:\s*"function)"\s*[:,].*"(?:arguments|args|parameters|input|action_input|function)"\s*:`)
	callExpression = regexp.MustCompile(`^\[?[a-z]+(?:_[a-z]+)*\((?:[a-z_]+\s*=\s*["'\d][^)]*)?\)\]?$`)

	tagBegins = regexp.MustCompile(`(?i)<summary>`)
	tagEnds   = regexp.MustCompile(`(?i)</\s*summary>`)
	fence     = regexp.MustCompile("(?s)(?:^|\n)[ \t]*```[\\w-]*[ \t]*\n(.*?)(?:\n[ \t]*```[ \t]*(?:\n|$)|$)")
)

// unwrapped is what of an answer is the summary, and whether the tag around it
// said so. Thoughts, fences, calls and what is outside of the tag are dropped.
func unwrapped(text string) (inner string, tagged bool) {
	text = output.Read(text, nil).Text
	if at := tagBegins.FindAllStringIndex(text, -1); at != nil {
		text, tagged = text[at[len(at)-1][1]:], true
		if end := tagEnds.FindStringIndex(text); end != nil {
			text = text[:end[0]]
		}
	}
	text = strings.TrimSpace(tagEnds.ReplaceAllString(text, ""))
	// A fence around most of it; a shorter one is a piece of code in a summary.
	if m := fence.FindStringSubmatch(text); m != nil && 2*len(m[1]) > len(text) {
		text = m[1]
	}
	text = strings.TrimSpace(calls.ReplaceAllString(text, ""))
	if callObject.MatchString(text) || callExpression.MatchString(text) {
		text = ""
	}
	return text, tagged
}

// label is a heading: of a line alone, or of the text that follows in its line.
var label = regexp.MustCompile(`^[\s>*-]*(?:#{1,6}\s*)?(?:\d{1,2}[.)]\s*)?(?:\*\*|__)?(?:\d{1,2}[.)]\s*)?([\pL\pM][\pL\pM\pN &/'’-]{0,40}?)\s*(?:[:：]\s*(?:\*\*|__)?|(?:\*\*|__)\s*[:：]?)\s*(.*)$`)

// labelled splits a line into its heading and what follows in it. A line that
// only the mark # makes a heading is one too.
func labelled(line string) (heading, rest string) {
	line = strings.TrimSpace(line)
	if m := label.FindStringSubmatch(line); m != nil {
		return m[1], m[2]
	}
	if after := strings.TrimLeft(line, "#"); after != line && strings.HasPrefix(after, " ") {
		return strings.TrimSpace(after), ""
	}
	return "", line
}

// sectionNames are the headings that are asked for, in small letters.
var sectionNames = regexp.MustCompile(`(?i)^[^\pL]*(?:goal|constraints|progress|key decisions|next steps|critical context)[^\pL\pN]*$`)

// headed reports whether text has a heading in any form.
func headed(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, _ := labelled(line)
		if strings.HasPrefix(line, "#") || sectionNames.MatchString(line) || name != "" && (strings.Contains(line, "**") || sectionNames.MatchString(name)) {
			return true
		}
	}
	return false
}

// nothings are the words in place of something to say, each alone.
var nothings = regexp.MustCompile(`(?i)^(?:n\W?a|none|nothing|nil|null|no|not applicable|unknown|undefined|empty|tbd|tba|todo|(?:none|nothing|not)(?: \w+)? (?:yet|so far|specified|mentioned|stated|discussed|provided|identified|available|applicable|known|noted|to report)(?: yet)?|` +
	`keine?|nichts|entfällt|unbekannt|aucune?|rien|néant|sans objet|ninguno|ninguna|nada|nenhum|nenhuma|nessuno|nessuna|niente|нет|отсутству\pL*|неизвестно|ничего|无|無|暂无|没有|不适用|なし|特になし|該当なし|없음|해당 없음|لا يوجد|لا شيء|غير متوفر)?$`)

// isNothing reports whether s says that there is nothing to say.
func isNothing(s string) bool {
	return nothings.MatchString(strings.Trim(s, " \t\r\n#*_-–—:：.。…()[]<>{}|/•·"))
}

// saying is text without lines that say nothing, and without headings that
// nothing follows.
func saying(text string) string {
	var kept []string
	waiting := 0 // headings at the end of kept that nothing follows yet
	for line := range strings.SplitSeq(text, "\n") {
		heading, rest := labelled(line)
		switch {
		case strings.TrimSpace(line) == "":
			kept = append(kept, "")
			if waiting > 0 {
				waiting++
			}
			continue
		case isNothing(line), isNothing(rest) && rest != "":
			continue
		case (heading != "" || sectionNames.MatchString(line)) && (rest == "" || sectionNames.MatchString(line)):
			kept = append(kept[:len(kept)-waiting], line)
			waiting = 1
			continue
		}
		kept = append(kept, line)
		waiting = 0
	}
	return strings.TrimSpace(strings.Join(kept[:len(kept)-waiting], "\n"))
}
