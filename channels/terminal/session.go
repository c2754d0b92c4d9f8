package terminal

import (
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"

	"dragoman/channels/live"
)

// maxLine bounds a line from a pipe, in bytes; the daemon's limit for a message is lower.
const maxLine = 1 << 20

// minBeginning is how much of an answer must be on the screen to recognise it by its
// beginning.
const minBeginning = 8

// session is one chat. Only the goroutine of run touches it.
type session struct {
	client *live.Client
	screen *screen
	piped  bool // in or out is a pipe: nothing is edited
	quiet  bool // out is no terminal: only complete answers are written

	keyboard keyboard
	editor   editor
	partial  []byte // an incomplete line from a pipe
	ended    bool   // the input has ended
	leaving  bool   // the person quits
	warned   bool   // the last key was Ctrl-C on an empty line
	failed   error  // why a pipe ends early
	apology  error  // the newest answer was an apology

	posts    chan<- message
	queue    []message // entered and not posted yet
	current  message   // the message that waits for its answer; zero: none
	posting  bool      // post is working
	accepted bool      // the daemon has stored current
	lookDue  bool      // run checkAnswered next
	urgent   []message // a stop, and answers to questions, to post before all else
	asked    asked     // what the person is asked while their message waits
	stopping bool      // the person has asked to stop this answer

	last         int64           // Seq of the newest item shown
	seen         map[string]bool // ids that were shown or need not be
	retryNotices io.Writer       // see ChatOptions.Waits
	disconnected bool
	turn         string // of the answer being shown
	over         string // a turn whose answer was found in the feed: what is heard of it now is late
	answer       string // as far as we know it
	printed      string // the part of it on the screen
	note         string // the last note shown for it
	tools        toolLines
	writer       *writer // formats the answer being shown; nil: none
}

func (s *session) showHistory(items []live.Item, o ChatOptions) {
	s.editor.commands = []string{"/help", "/new", "/quit", "/status", "/stop", "/title"}
	for _, it := range items {
		s.last = max(s.last, it.Seq)
		s.seen[it.ID] = true
		if it.From == live.FromPerson {
			s.editor.remember(printable(strings.ReplaceAll(it.Text, "\r", "")))
		}
	}
	if s.quiet {
		return
	}
	show := o.History
	if show == 0 {
		show = shownHistory
	}
	open := openQuestions(items)
	items = items[max(0, len(items)-max(0, show)):]
	for _, it := range items {
		if slices.ContainsFunc(open, func(question live.Item) bool { return question.ID == it.ID }) {
			continue
		}
		mark := indent
		if it.From == live.FromPerson {
			mark = prompt
		}
		s.screen.line(mark + oneLine(it.Text, s.screen.textWidth()-len(indent)))
	}
	if !s.piped {
		if len(items) > 0 {
			s.screen.print("\n")
		}
		s.screen.line(oneLine("Enter sends · Ctrl-C stops an answer · Ctrl-D quits · /help", s.screen.textWidth()))
		for _, question := range open {
			s.showQuestion(question)
		}
	}
}

// waiting reports whether an answer is awaited or arriving.
func (s *session) waiting() bool { return s.current.id != "" || s.turn != "" || len(s.urgent) > 0 }

// finished reports whether a pipe has ended and everything in it is answered.
func (s *session) finished() bool {
	return s.piped && (s.failed != nil || (s.ended && len(s.queue) == 0 && s.current.id == ""))
}

// refresh draws the prompt if a line can be entered.
func (s *session) refresh() {
	if !s.asked.open() && (s.waiting() || len(s.queue) > 0) || s.leaving {
		return
	}
	s.stopping = false
	s.screen.draw(&s.editor)
}

func (s *session) farewell() {
	s.finishAnswer()
	if s.current.id != "" && !s.accepted {
		s.notice("· not sent: " + oneLine(s.current.text, s.screen.textWidth()-len("· not sent: ")))
	}
	if s.screen.raw && s.screen.midLine {
		s.screen.print("\n")
	}
}

func (s *session) enqueue(text string) {
	if strings.TrimSpace(text) != "" {
		s.queue = append(s.queue, message{id: rand.Text(), text: text})
	}
}

// outgoing returns the next message for post and the channel for it, nil if there is
// none. A line is sent when the one before it is answered.
func (s *session) outgoing() (chan<- message, message) {
	if s.current.id == "" && s.turn == "" && len(s.queue) > 0 && !s.queue[0].ahead {
		s.current = s.queue[0]
		s.accepted = false
		s.lookDue = false
		s.queue = s.queue[1:]
		s.seen[s.current.id] = true // it is on the screen already
		if s.current.unseen {
			s.notice(prompt + oneLine(s.current.text, s.screen.textWidth()-len(indent)))
		}
	}
	switch {
	case s.posting:
		return nil, message{}
	case len(s.urgent) > 0:
		return s.posts, s.urgent[0]
	case s.current.id != "" && !s.accepted:
		return s.posts, s.current
	}
	return nil, message{}
}

func (s *session) handleOutcome(o outcome) {
	s.posting = false
	switch {
	case o.urgent:
		s.urgent = s.urgent[1:]
		if o.err != nil {
			s.notice("· " + errorText(o.err))
			s.endWords() // no thanks will come
		}
	case o.err == nil:
		s.accepted, s.lookDue = true, true
	default:
		s.current = message{}
		s.notice("· " + errorText(o.err))
		s.failed = fmt.Errorf("terminal: a message was refused: %s", errorText(o.err))
	}
}

// showRetrying shows why the daemon has not accepted a message yet.
func (s *session) showRetrying(why string) {
	if s.quiet && s.retryNotices != nil {
		_, _ = fmt.Fprintf(s.retryNotices, "%s Trying again; Ctrl-C ends this.\n", why) // a broken pipe ends the program anyway
		return
	}
	s.notice("· " + why + " Trying again …")
}

// notice shows a line that is not part of an answer. A pipe gets none, because its reader
// could not tell it from an answer.
func (s *session) notice(text string) {
	if s.quiet {
		return
	}
	s.interruptAnswer()
	s.screen.line(text)
}

// interruptAnswer ends the current line of the answer, to be continued below. A word that
// has only begun is kept for the second part.
func (s *session) interruptAnswer() {
	if s.writer != nil {
		if word := s.writer.word.String(); strings.HasSuffix(s.printed, word) {
			s.printed = strings.TrimSuffix(s.printed, word)
			s.writer.word.Reset()
		}
	}
	s.finishAnswer()
}

func (s *session) finishAnswer() {
	s.screen.hide()
	if s.writer != nil {
		s.writer.end()
		s.writer = nil
	}
}
