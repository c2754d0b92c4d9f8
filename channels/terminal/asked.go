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
	// sayFirst is below a line that answers no question about a call.
	sayFirst = "· kept until you have answered: y allows, n refuses"
	// sayElsewhere is for whoever cannot answer, because nobody is at the keyboard.
	sayElsewhere = "It waits for an answer to that question, which cannot be given here: give it in dragoman chat."
)

// asked is what a person is asked while their message waits. All of it may be open at once.
type asked struct {
	calls    []live.Item // the questions about calls that they may allow, the oldest first
	decided  bool        // they have answered one of them, and the next is to be named
	words    bool        // a server of tools wants their words
	answered bool        // they have written some since
	orders   int         // commands that they have written since, whose replies come first
}

func (a *asked) open() bool { return len(a.calls) > 0 || a.words }

// waitsForNext reports whether a server has got an answer, and its next question or its thanks
// are still to come.
func (a *asked) waitsForNext() bool { return a.words && a.answered }

// newest returns the id of the question that y and n answer, "" if there is none.
func (a *asked) newest() string {
	if len(a.calls) == 0 {
		return ""
	}
	return a.calls[len(a.calls)-1].Asks
}

// decide drops the question that a command like "/allow K7QM" answers: by its id or its code.
func (a *asked) decide(command string) {
	words := strings.Fields(command)
	if len(words) < 2 || !slices.Contains(decisions, strings.ToLower(words[0])) {
		return
	}
	n := len(a.calls)
	a.calls = slices.DeleteFunc(a.calls, func(it live.Item) bool { return isAbout(it, words[1]) })
	a.decided = a.decided || len(a.calls) < n
}

// decisions are the commands that answer a question about a call.
var decisions = []string{"/allow", "/deny", "/always"}

// isAbout reports whether ref is the id or the code of the question it.
func isAbout(it live.Item, ref string) bool {
	const codeLength = 4
	return strings.EqualFold(it.Asks, ref) || len(ref) == codeLength && strings.Contains(it.Text, "/allow "+strings.ToUpper(ref))
}

// noteAsked notes what a message of Dragoman asks, and says how to answer. The end of a turn
// ends what was asked before it. Other messages do not, because a reminder may come meanwhile;
// but the first one after an answer for a server, if it is no reply to a command, is its thanks.
func (s *session) noteAsked(it live.Item) {
	a := &s.asked
	question, aboutCall := strings.CutPrefix(it.Replaces, "question/")
	switch {
	case it.Wants:
		a.words = true
		a.answered = false
		s.notice(sayHowToTell)
		s.answerAhead()
	case it.Asks != "":
		a.calls = append(a.calls, it)
		s.notice(sayHowToAnswer)
	case aboutCall:
		a.decide("/allow " + strings.TrimSuffix(question, "/always"))
	case it.Replaces != "":
		s.endAsked()
	case a.orders > 0:
		a.orders--
	case a.answered:
		s.endWords()
	}
	if a.decided && len(a.calls) > 0 && it.Asks == "" {
		s.notice("· this waits, too: " + oneLine(a.calls[len(a.calls)-1].Text, s.screen.textWidth()-len("· this waits, too: ")))
		s.notice(sayHowToAnswer)
	}
	a.decided = false
	if s.quiet && (it.Wants || it.Asks != "") && s.retryNotices != nil {
		_, _ = fmt.Fprintln(s.retryNotices, sayElsewhere) // a broken pipe ends the program anyway
	}
}

// endAsked ends all that was asked.
func (s *session) endAsked() {
	s.asked.calls = nil
	s.endWords()
}

// endWords ends what a server asked. Lines that were typed ahead for it are ordinary ones now.
func (s *session) endWords() {
	s.asked.words = false
	s.asked.answered = false
	s.asked.orders = 0
	for i := range s.queue {
		s.queue[i].ahead = false
	}
}

// answerAhead answers a server's question with the first line that was typed ahead for it.
func (s *session) answerAhead() {
	i := slices.IndexFunc(s.queue, func(m message) bool { return m.ahead })
	if i < 0 {
		return
	}
	text := s.queue[i].text
	s.queue = slices.Delete(s.queue, i, i+1)
	s.notice(prompt + oneLine(text, s.screen.textWidth()-len(indent)))
	s.noteAnswer(text)
	s.postFirst(text)
}

// showQuestion shows an open question whole; the next line may answer it.
func (s *session) showQuestion(it live.Item) {
	s.showAnswer(it.Text, false)
	s.noteAsked(it)
}

// openQuestions are those that nobody answered, the oldest first: nothing was sent after them, or
// what a person wrote before them still waits. A server has one at most.
func openQuestions(items []live.Item) (open []live.Item) {
	var decided []string
	last := true
	told := false // somebody wrote words that wait for nothing: they answered a server
	for i, it := range slices.Backward(items) {
		words := strings.Fields(it.Text)
		waits := slices.ContainsFunc(items[:i], func(before live.Item) bool { return before.Waiting })
		switch {
		case it.From == live.FromPerson && len(words) > 1 && strings.HasPrefix(words[0], "/"):
			decided = append(decided, words[1])
		case it.From == live.FromPerson:
			told = told || !it.Waiting && !isOrder(it.Text)
		case it.From != live.FromDragoman:
		case it.Wants:
			if waits && !told {
				open = append(open, it)
			}
			told = true // its former questions are answered
			last = false
		case it.Asks == "":
			last = false
		case slices.ContainsFunc(decided, func(ref string) bool { return isAbout(it, ref) }):
		case last || waits:
			open = append(open, it)
		}
	}
	slices.Reverse(open)
	return open
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

// answers returns what to send at once for text, "" if it is to wait its turn. While a question
// waits that is its answer: any line, for a server. Commands about questions never wait.
func (s *session) answers(text string) string {
	text = strings.TrimSpace(text)
	call := s.asked.newest()
	switch word := strings.ToLower(text); {
	case call != "" && (word == "y" || word == "yes"):
		return "/allow " + call
	case call != "" && (word == "n" || word == "no"):
		return "/deny " + call
	case s.asked.words && word != "/stop":
		return text
	case !s.waiting():
		return ""
	}
	for _, name := range append([]string{"/approvals"}, decisions...) {
		if text == name || strings.HasPrefix(text, name+" ") {
			return text
		}
	}
	return ""
}

// noteAnswer notes what the person writes while a question waits.
func (s *session) noteAnswer(text string) {
	switch {
	case !s.asked.words:
	case isOrder(text):
		s.asked.orders++
	default:
		s.asked.answered = true
	}
	s.asked.decide(text)
}

// postFirst has text sent before all that waits.
func (s *session) postFirst(text string) {
	m := message{id: rand.Text(), text: text, urgent: true}
	s.urgent = append(s.urgent, m)
	s.seen[m.id] = true
}
