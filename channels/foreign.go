package channels

import "strings"

// Foreign writes the words of somebody else (a provider, a server, a network) into a
// text of ours, which is Markdown: as code in one line, so that every network shows them
// as they are. A link, a command or a heading in them is none. It is "" for nothing.
func Foreign(words string) string {
	words = strings.Join(strings.Fields(words), " ")
	if words == "" {
		return ""
	}
	longest, run := 0, 0
	for _, r := range words {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(words, "`") || strings.HasSuffix(words, "`") {
		words = " " + words + " " // Markdown takes one space off at either end
	}
	return fence + words + fence
}
