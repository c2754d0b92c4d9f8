package agent

import (
	"regexp"
	"strings"
	"unicode"

	"dragoman/agent/window"
)

const (
	// leastLetters is what a summary of much has at least: about what 100
	// characters of English hold. What models say in place of a summary is mostly
	// shorter, three or four sentences are two to five times as long.
	leastLetters = 80
	// tokensALetter and lettersAMessage are how much less does: a letter for so many
	// tokens that it stands for, or so many for each message, whichever is less. A
	// few short messages may have a summary of three words, and so may one of a
	// hundred pages that somebody pasted.
	tokensALetter, lettersAMessage = 32, 3
	// fewTokens may be summarised by any word.
	fewTokens = 512
	// ownPromptShare is the part, one n-th, of both that does under instructions
	// of the operator's: they may ask for less than ours.
	ownPromptShare = 4
	// shrunkShare is the part, one n-th, of the summary before it that a new one
	// has at least. More than that hardly ever comes to an end at once.
	shrunkShare = 5
	// mostOld bounds what of the summary before counts in that, by letters: the
	// format may have been changed to a shorter one since.
	mostOld, mostOldShort = 1600, 400
	// wideLetter is how many letters one of a script without an alphabet stands for.
	wideLetter = 3
	// phraseLetters: in a longer text what sounds like a refusal is told of people.
	phraseLetters = 160
)

// letters counts the letters and digits of text, those of Chinese, Japanese and
// Korean as often as they stand for several.
func letters(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			n += wideLetter
		case unicode.IsLetter(r), unicode.IsNumber(r):
			n++
		}
	}
	return n
}

// insteadOf is how an answer begins that is about the task and does not do it.
// Such a list is never whole, so it is short: most others are too short for
// what they would stand for, or shorter than the summary before.
var insteadOf = regexp.MustCompile(`(?i)^\W*(?:(?:i['’]m|i am|we['’]re|we are) (?:very |so )?(?:sorry|unable|not able)|sorry\b|` +
	`i (?:can['’]?t|cannot|won['’]?t|will not|do not have|don['’]?t have) |as an ai\b|` +
	`(?:there (?:are|is|were|was) )?(?:no|nothing)(?: \w+){0,3} to summari[sz]e)`)

// thin says what is wrong with text as a summary that stands for old, the one
// before it, and for so many tokens; "" if nothing is. What a summary stands for
// is not shown again, so a few words in place of one are a loss.
func (s *summarising) thin(text, old string, messages, tokens int) string {
	c := s.a.opts.Compaction
	if s.a.schema != nil {
		return "" // what follows it is what was asked for, however little that is
	}
	least, most := min(leastLetters, tokens/tokensALetter, messages*lettersAMessage), mostOld
	if tokens < fewTokens {
		least = 0
	}
	if strings.TrimSpace(c.Prompt+c.UserPrompt) != "" {
		least /= ownPromptShare
	}
	if c.Format == window.Concise || c.Format == window.JSON {
		most = mostOldShort
	}
	n := letters(text)
	switch {
	case n < phraseLetters && insteadOf.MatchString(text):
		return "is about the task and not about the conversation"
	case n < least:
		return "says too little about so many messages"
	case n < min(letters(old), most)/shrunkShare:
		return "lacks most of what the summary before it said"
	default:
		return ""
	}
}
