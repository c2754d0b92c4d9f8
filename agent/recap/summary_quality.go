package recap

import (
	"strings"
	"unicode"

	"dragoman/internal/lazily"
	"dragoman/sessions"
)

const (
	// A summary must share minShared meaningful words with a conversation of
	// manyWords or more, and one word with a conversation of fewWords or more. With
	// fewer words none is required.
	minShared = 2
	manyWords = 12
	fewWords  = 4
	// At least one sharedPart-th of a summary's words must come from the
	// conversation. A text about something else shares some words by chance.
	sharedPart = 8
	// A name or a number counts as nameWeight words: a summary in another language
	// shares nothing else.
	nameWeight = 3
	// maxWords limits how many words of a conversation are looked at.
	maxWords = 200_000
)

// refusals matches how refusals begin in English. Refusals in other languages are
// recognised because they share no words with the conversation.
var refusals = lazily.Compile(`(?i)^\W*(?:i['’]?m (?:really |very |so )?(?:sorry|unable|not able|afraid)|(?:i )?apologi[sz]e|sorry[,.!]|sorry,? (?:but )?i |` +
	`i (?:can['’]?t|cannot|can not|won['’]t|will not|must decline|am (?:sorry|unable|not able))\b|as an? (?:ai|artificial|language|large)\b)`)

// overlap is how much of a summary's vocabulary comes from the conversation. A
// summary that shares too little is about something else.
type overlap struct {
	words         int // of the text
	shared, named int // shared with the conversation, and how many of these are names or numbers
	known         int // distinct words of the conversation, up to manyWords
}

func (t *Task) judge(text string, talk Source) *Flaw {
	// Compare without the last question: an answer to it shares little with what came
	// before.
	o := t.compare(text, Source{talk.Previous, talk.Messages[:lastQuestion(talk.Messages)]})
	if o.known < manyWords {
		o = t.compare(text, talk)
	}
	least := 0
	switch {
	case t.schema != nil:
	case o.known >= manyWords:
		least = minShared
	case o.known >= fewWords:
		least = 1
	}
	switch {
	case !strings.ContainsFunc(text, isText):
		return &Flaw{"says nothing", writeAll}
	case refusals.Regexp().MatchString(text):
		return &Flaw{"is a refusal", writeAll}
	case t.schema == nil && o.known > 0 && o.words == 0:
		return &Flaw{"is about the task and not about the conversation", writeAll}
	case o.shared < least, least > 0 && (o.shared+(nameWeight-1)*o.named)*sharedPart < o.words:
		return &Flaw{"is not about the conversation", writeAll}
	default:
		return nil
	}
}

func isText(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// lastQuestion returns the index of the last user message if at most one message
// follows it, otherwise len(msgs): once more was done for it, it is a part of the
// conversation like any other.
func lastQuestion(msgs []sessions.Message) int {
	for i := len(msgs) - 1; i >= max(len(msgs)-2, 0); i-- {
		if msgs[i].Role == sessions.RoleUser && !msgs[i].Synthetic {
			return i
		}
	}
	return len(msgs)
}

// compare counts what text and source share, ignoring the words of the instructions.
func (t *Task) compare(text string, talk Source) (o overlap) {
	type seen struct{ named, there, namedThere bool }
	in := make(map[string]seen)
	own := t.ownWords()
	eachWord(text, func(stem string, named bool) bool {
		if !own[stem] {
			in[stem] = seen{named: in[stem].named || named}
		}
		return true
	})
	left, known := maxWords, make(map[string]bool)
	look := func(text string) {
		eachWord(text, func(stem string, named bool) bool {
			if w, found := in[stem]; found {
				in[stem] = seen{w.named, true, w.namedThere || named}
			}
			if !own[stem] && len(known) < manyWords {
				known[stem] = true
			}
			left--
			return left > 0
		})
	}
	look(talk.Previous)
	for i := range talk.Messages {
		m := &talk.Messages[i]
		look(m.Name)
		look(m.Content)
		for _, c := range m.ToolCalls {
			look(c.Name + " " + c.Arguments)
		}
		if left <= 0 {
			break
		}
	}
	o.known, o.words = len(known), len(in)
	for _, w := range in {
		if w.there {
			o.shared++
		}
		if w.there && w.named && w.namedThere {
			o.named++
		}
	}
	return o
}
