package recap

import (
	"strings"
	"unicode"

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
	// mostWords bounds how many words of a conversation are looked at.
	mostWords = 200_000
)

// refusals are how a refusal begins in English. One in another language is found by
// what it lacks of the conversation.
var refusals = lazily.Compile(`(?i)^\W*(?:i['’]?m (?:really |very |so )?(?:sorry|unable|not able|afraid)|(?:i )?apologi[sz]e|sorry[,.!]|sorry,? (?:but )?i |` +
	`i (?:can['’]?t|cannot|can not|won['’]t|will not|must decline|am (?:sorry|unable|not able))\b|as an? (?:ai|artificial|language|large)\b)`)

// overlap is what a text and a conversation have in common, in words.
type overlap struct {
	words         int // of the text
	shared, named int // with the conversation; of those, names and numbers
	known         int // words of the conversation, up to manyWords
}

// judge says what is wrong with what text says, nil if nothing is.
func (t *Task) judge(text string, talk Talk) *Flaw {
	// An answer to the last question has little in common with what came before it.
	o := t.compare(text, Talk{talk.Previous, talk.Messages[:lastQuestion(talk.Messages)]})
	if o.known < manyWords {
		o = t.compare(text, talk)
	}
	least := 0
	switch {
	case t.schema != nil:
	case o.known >= manyWords:
		least = leastShared
	case o.known >= fewWords:
		least = 1
	}
	switch {
	case !strings.ContainsFunc(text, speaks):
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
	type seen struct{ named, there, namedThere bool }
	in := make(map[string]seen)
	eachWord(text, func(stem string, named bool) bool {
		if !t.own[stem] {
			in[stem] = seen{named: in[stem].named || named}
		}
		return true
	})
	left, known := mostWords, make(map[string]bool)
	look := func(text string) {
		eachWord(text, func(stem string, named bool) bool {
			if w, found := in[stem]; found {
				in[stem] = seen{w.named, true, w.namedThere || named}
			}
			if !t.own[stem] && len(known) < manyWords {
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
