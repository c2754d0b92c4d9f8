package terminal

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels/live"
)

// What stands below a question, by what answers it.
const (
	sayHowToAnswer = "· y allows, n refuses"
	sayHowToTell   = "· your next line is the answer; /cancel gives none"
	// sayElsewhere is for whoever cannot answer, because nobody is at the keyboard.
	sayElsewhere = "It waits for an answer to that question, which cannot be given here: give it in dragoman chat."
)

// asked is what a person is asked while their message waits. Both may be open.
type asked struct {
	code     string // of the call that they may allow; "": none
	words    bool   // a server of tools wants their words
	answered bool   // they have written some since
}

func (a asked) open() bool { return a.code != "" || a.words }

// noteAsked notes what a message of Dragoman asks, and says how to answer. One that asks
// nothing ends what was asked before it, except a server's question without an answer: a
// reminder may come meanwhile.
func (s *session) noteAsked(it live.Item) {
	s.asked.code = it.Asks
	switch {
	case it.Wants:
		s.asked.words = true
		s.asked.answered = false
		s.notice(sayHowToTell)
	case it.Asks != "":
		s.notice(sayHowToAnswer)
	case s.asked.answered || it.Replaces != "":
		s.asked.words = false
	}
	if s.quiet && s.asked.open() && s.retryNotices != nil {
		_, _ = fmt.Fprintln(s.retryNotices, sayElsewhere) // a broken pipe ends the program anyway
	}
}

// showQuestion shows an open question whole; the next line may answer it.
func (s *session) showQuestion(it *live.Item) {
	s.showAnswer(it.Text, false)
	s.noteAsked(*it)
}

// openQuestion is the newest question that nobody answered, nil if there is none: nothing was
// sent after it, or what a person wrote before it still waits.
func openQuestion(items []live.Item) *live.Item {
	decided := map[string]bool{}
	last := true
	told := false // somebody wrote words that wait for nothing: they answered a server
	for i, it := range slices.Backward(items) {
		words := strings.Fields(it.Text)
		waits := slices.ContainsFunc(items[:i], func(before live.Item) bool { return before.Waiting })
		switch {
		case it.From == live.FromPerson && len(words) > 1 && strings.HasPrefix(words[0], "/"):
			decided[strings.ToLower(words[1])] = true
		case it.From == live.FromPerson:
			told = told || !it.Waiting && !isOrder(it.Text)
		case it.From != live.FromDragoman:
		case it.Wants:
			if waits && !told {
				return &items[i]
			}
			last = false
		case it.Asks == "":
			last = false
		case decided[strings.ToLower(it.Asks)]:
		case last || waits:
			return &items[i]
		}
	}
	return nil
}

// notToTell are commands that answer a server: see package forms.
var notToTell = []string{"/cancel", "/deny", "/skip"}

// isOrder reports whether text is a command that answers no server.
func isOrder(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return strings.HasPrefix(text, "/") && !slices.Contains(notToTell, text)
}

// isWanted reports whether text answers the question of a server that waits.
func (s *session) isWanted(text string) bool { return s.asked.words && !isOrder(text) }

// answers returns what to send at once for text while a question waits, "" if it is no answer.
// What a server asks is answered by any line, and commands need not wait meanwhile.
func (s *session) answers(text string) string {
	if !s.asked.open() {
		return ""
	}
	text = strings.TrimSpace(text)
	switch word := strings.ToLower(text); {
	case s.asked.code != "" && (word == "y" || word == "yes"):
		return "/allow " + s.asked.code
	case s.asked.code != "" && (word == "n" || word == "no"):
		return "/deny " + s.asked.code
	case s.asked.words && word != "/stop":
		return text
	}
	for _, name := range []string{"/allow ", "/deny ", "/always ", "/approvals"} {
		if strings.HasPrefix(text, name) {
			return text
		}
	}
	return ""
}

// postFirst has text sent before all that waits.
func (s *session) postFirst(text string) {
	m := message{id: rand.Text(), text: text, urgent: true}
	s.urgent = append(s.urgent, m)
	s.seen[m.id] = true
}
