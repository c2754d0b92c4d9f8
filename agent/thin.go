package agent

import (
	"strings"
	"unicode"

	"dragoman/agent/window"
	"dragoman/sessions"
)

const (
	// leastLetters is what a summary of much has, so that nobody looks at what it
	// says: about what 100 characters of English hold. What models say in place of
	// a summary is mostly shorter, three or four sentences are two to five times as
	// long.
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
	// mostSelf: in a longer text somebody else may speak.
	mostSelf = 200
	// leastWords is less than a sentence has that says something and names nothing.
	leastWords = 21
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

// doubt is what is wrong with a text as a summary. The zero value is nothing.
type doubt struct {
	wrong string
	// sure says that it is none at all. Else it may be one of few words.
	sure bool
	// lacks says that it is short beside the summary before it.
	lacks bool
}

// thin says what is wrong with text as a summary that stands for old, the one
// before it, and for msgs. What a summary stands for is not shown again, so a few
// words in place of one are a loss; and one that is refused is made in vain, so
// that words which tell of the conversation are enough however few they are.
func (s *summarising) thin(text, old string, msgs []sessions.Message) doubt {
	if s.a.schema != nil {
		return doubt{} // what follows it is what was asked for, however little that is
	}
	least, most, own := s.enough(msgs)
	n, task := letters(text), aboutTheTask(text)
	shared := leastShared // a longer text need not be looked at
	if n < max(least, mostSelf) || task {
		shared = shares(text, old, msgs)
	}
	lacks := n < min(letters(old), most)/shrunkShare
	switch {
	case task && (n < mostSelf || shared < leastShared):
		return doubt{wrong: "is about the task and not about the conversation", sure: true}
	case shared < leastShared && !own && speaksForItself(text, least > 0 && n < leastLetters):
		return doubt{wrong: "is about the task and not about the conversation", sure: true}
	case shared < leastShared && n < least:
		return doubt{wrong: "says too little about so many messages", sure: n < leastWords && shared == 0, lacks: lacks}
	case lacks:
		// A piece of the one before says nothing of what came since.
		nothingNew := least > 0 && strings.Contains(old, strings.TrimSpace(text))
		return doubt{wrong: "lacks most of what the summary before it said", sure: nothingNew, lacks: true}
	default:
		return doubt{}
	}
}

// enough is how many letters of a summary of msgs nobody looks at, and how many of
// the summary before it count, at most. own says that the operator has told what
// to write.
func (s *summarising) enough(msgs []sessions.Message) (least, most int, own bool) {
	c := s.a.opts.Compaction
	tokens := s.a.messageTokens(msgs)
	most = mostOld
	if c.Format == window.Concise || c.Format == window.JSON {
		most = mostOldShort
	}
	own = strings.TrimSpace(c.Prompt+c.UserPrompt) != ""
	if tokens < fewTokens {
		return 0, most, own
	}
	least = min(leastLetters, tokens/tokensALetter, len(msgs)*lettersAMessage)
	if own {
		least /= ownPromptShare
	}
	return least, most, own
}

// besides is w, or, if it lacks what old said, old and w: a model that writes
// little does so each time, and what it wrote before is not to be lost for that.
// If both are too long they are for [summarising.mended], and never the one for
// the other.
func besides(w written, old string, d doubt) written {
	if !d.lacks {
		return w
	}
	return written{text: old + "\n\n" + w.text, fields: w.fields}
}
