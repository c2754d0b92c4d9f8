package recap

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/internal/lazily"
	"dragoman/sessions"
)

const (
	// leastShared is how many words that say something a summary has in common
	// with the conversation, if that has manyWords or more; one where it has
	// fewWords, and none is asked for where it has less.
	leastShared, manyWords, fewWords = 2, 12, 4
	// sharedPart is the part of its words, one n-th, that a summary has in common
	// with the conversation. A text about something else has some too, by chance.
	sharedPart = 8
	// nameWeight is how many words a name or a number counts: a summary in
	// another language has nothing else in common.
	nameWeight = 3
	// shortText is how many characters a refusal has that hardly says why. A
	// longer text that begins like one is a summary if refusalPart of its words,
	// one n-th, are the conversation's.
	shortText, refusalPart = 300, 2
	// mostWords bounds how many words of a conversation are looked at.
	mostWords = 200_000
)

// refusals are how a refusal begins in English. One in another language is found by
// what it lacks of the conversation.
var refusals = lazily.Compile(`(?i)^\W*(?:i['’]?m (?:really |very |so )?(?:sorry|unable|not able|afraid)|(?:i )?apologi[sz]e|sorry[,.!]|sorry,? (?:but )?i |` +
	`i (?:can['’]?t|cannot|can not|won['’]t|will not|must decline|am (?:sorry|unable|not able))\b|unfortunately,? (?:i|we) |as an? (?:ai|artificial|language|large)\b)`)

// overlap is what a text and a conversation have in common, in words.
type overlap struct {
	words         int // of the text
	shared, named int // with all of it; of those, names and numbers
	before        int // with what came before its last question
	known         int // words of all of it, up to manyWords
	knownBefore   int // and of what came before its last question
}

// judge says what is wrong with what text says, nil if nothing is.
func (t *Task) judge(text string, talk Talk) *Flaw {
	o := t.compare(text, talk)
	least := 0
	switch {
	case t.schema != nil:
	case o.known >= manyWords:
		least = leastShared
	case o.known >= fewWords:
		least = 1
	}
	short := utf8.RuneCountInString(text) < shortText
	refuses := refusals.Regexp().MatchString(text) && (short || o.shared*refusalPart < o.words)
	switch {
	case !strings.ContainsFunc(text, speaks):
		return &Flaw{"says nothing", writeAll}
	case refuses:
		return &Flaw{"is a refusal", writeAll}
	case t.schema == nil && o.known > 0 && o.words == 0:
		return &Flaw{"is about the task and not about the conversation", writeAll}
	case o.shared < least, least > 0 && (o.shared+(nameWeight-1)*o.named)*sharedPart < o.words:
		return &Flaw{"is not about the conversation", writeAll}
	case least > 0 && o.knownBefore >= manyWords && o.before < leastShared:
		return &Flaw{"answers the last message", writeAll}
	default:
		return nil
	}
}

func speaks(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// lastQuestion is the index of the last message of a person, if at most an
// answer follows it, else the number of messages: what was done for it since is
// a part of the conversation like any other.
func lastQuestion(msgs []sessions.Message) int {
	for i := len(msgs) - 1; i >= max(len(msgs)-2, 0); i-- {
		if msgs[i].Role == sessions.RoleUser && !msgs[i].Synthetic {
			return i
		}
	}
	return len(msgs)
}

// compare counts what text and talk have in common, without the words of the
// instructions.
func (t *Task) compare(text string, talk Talk) (o overlap) {
	type seen struct{ named, namedThere, before, after bool }
	in := make(map[string]seen)
	eachWord(text, func(stem string, named bool) bool {
		if !t.own[stem] {
			w := in[stem]
			w.named = w.named || named
			in[stem] = w
		}
		return true
	})
	last := lastQuestion(talk.Messages)
	count, known := 0, make(map[string]bool)
	look := func(text string, after bool) {
		eachWord(text, func(stem string, named bool) bool {
			if count++; t.own[stem] {
				return count < mostWords
			}
			if len(known) < manyWords {
				known[stem] = true
			}
			if w, found := in[stem]; found {
				w.namedThere = w.namedThere || named
				w.before, w.after = w.before || !after, w.after || after
				in[stem] = w
			}
			return count < mostWords
		})
	}
	look(talk.Previous, false)
	for i := range talk.Messages {
		m := &talk.Messages[i]
		if i == last {
			o.knownBefore = len(known)
		}
		look(m.Name, i >= last)
		look(m.Content, i >= last)
		for _, c := range m.ToolCalls {
			look(c.Name+" "+c.Arguments, i >= last)
		}
		if count >= mostWords {
			break
		}
	}
	o.known, o.words = len(known), len(in)
	for _, w := range in {
		if !w.before && !w.after {
			continue
		}
		o.shared++
		if w.named && w.namedThere {
			o.named++
		}
		if w.before {
			o.before++
		}
	}
	return o
}
