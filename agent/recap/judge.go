package recap

import (
	"regexp"
	"unicode/utf8"

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

// refusals are how an answer begins that is about the task and does not do it.
// A summary begins with what it says.
var refusals = regexp.MustCompile(`(?i)^[^\pL]*(?:` +
	`i['’]?m (?:really |very |so )?(?:sorry|unable|not able|afraid)|(?:i )?apologi[sz]e|sorry[,.!]|sorry,? (?:but )?i |i (?:can['’]?t|cannot|can not|won['’]t|will not|must decline|am (?:sorry|unable|not able))\b|unfortunately,? (?:i|we) |as an? (?:ai|artificial|language|large)\b|` +
	`(?:es )?tut mir (?:sehr )?leid|leider kann ich|ich kann (?:das|dies|diese|ihnen|dir|leider|nicht)|als (?:ki|sprachmodell)|` +
	`(?:je suis )?désolée?|je ne (?:peux|suis) pas|malheureusement,? je|en tant qu['’]|lo (?:siento|lamento)|no puedo|como (?:una? )?(?:ia|modelo)|` +
	`(?:desculpe|sinto muito|infelizmente,? não)|não posso|mi dispiace|non posso|извините|простите|к сожалению,? я|я не могу|как (?:ии|языковая)|` +
	`(?:我?很)?抱歉|对不起|對不起|我?(?:无法|無法|不能)|作为|申し訳|すみません|죄송|미안|(?:أنا )?(?:آسف|أعتذر|عذرا)|لا (?:أستطيع|يمكنني)|للأسف)`)

// offer is an answer that turns to whoever asked, and not to the conversation.
var offer = regexp.MustCompile(`(?i)(?:let me know if|feel free to|would you like me to|(?:hope|happy) (?:this|to) help|is there anything else|anything else i can)[^\n]*$`)

// overlap is what a text and a conversation have in common, in words.
type overlap struct {
	words         int // of the text
	shared, named int // with all of it; of those, names and numbers
	before        int // with what came before its last question
	known         int // words of all of it, up to manyWords
	knownBefore   int // and of what came before its last question
}

// judge says what is wrong with what text says, nil if nothing is. tagged says
// that the model wrote it as the summary, as it was told.
func (t *Task) judge(text string, talk Talk, tagged bool) *Flaw {
	if text = withoutBlanks(text); !speaks(text) {
		return &Flaw{"says nothing", writeAll}
	}
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
	refuses := refusals.MatchString(text) && (short || o.shared*refusalPart < o.words)
	switch {
	case refuses:
		return &Flaw{"is a refusal", writeAll}
	case t.schema == nil && o.known > 0 && o.words == 0:
		return &Flaw{"is about the task and not about the conversation", writeAll}
	case o.shared < least, least > 0 && (o.shared+(nameWeight-1)*o.named)*sharedPart < o.words:
		return &Flaw{"is not about the conversation", writeAll}
	case least > 0 && o.knownBefore >= manyWords && (o.before < leastShared || !tagged && (2*o.before < o.shared || offer.MatchString(text))):
		return &Flaw{"answers the last message", writeAll}
	default:
		return nil
	}
}

// blanks are what a model leaves to be filled in.
var blanks = regexp.MustCompile(`\[[^\]\n]*\]|<[^>\n]*>|\{\{?[^}\n]*\}\}?|_{3,}|\.{4,}`)

// withoutBlanks is text without them.
func withoutBlanks(text string) string { return saying(blanks.ReplaceAllString(text, " ")) }

// speaks reports whether text has a letter or a digit.
func speaks(text string) bool {
	for _, r := range text {
		if kindOf(r) != between || r >= 0x3041 && r <= 0x309f { // Hiragana too
			return true
		}
	}
	return false
}

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
