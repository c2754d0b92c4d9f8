package terminal

import (
	"crypto/rand"
	"fmt"
	"io"
	"strings"

	"dragoman/channels/live"
)

// maxLine bounds a line from a pipe; the daemon's own limit is lower.
const maxLine = 1 << 20

// minBeginning is how long a text must be to be known by it.
const minBeginning = 8

// session is one chat. It belongs to the goroutine of run.
type session struct {
	client *live.Client
	screen *screen
	piped  bool // lines from a pipe or into one: nothing is edited
	quiet  bool // out is no terminal: answers only, and whole

	keyboard keyboard
	editor   editor
	partial  []byte // of a line from a pipe
	ended    bool   // the input has no more
	left     bool   // the person goes
	warned   bool   // the last key was Ctrl-C on an empty line
	failed   error  // what ends a pipe early
	apology  error  // the newest answer said that there is none

	posts    chan<- message
	queue    []message // entered and not asked yet
	asked    message   // the one whose answer is awaited; zero: none
	sending  bool      // post has a message
	taken    bool      // the daemon has it
	due      bool      // look is worth while now
	halt     message   // a stop to hand in; zero: none
	stopping bool      // one was asked for while this answer was awaited

	last  int64           // Seq of the newest item shown
	known map[string]bool // ids that were shown, or need not be
	waits io.Writer       // hears on a pipe why a message is not accepted yet; nil: nothing does
	lost  bool
	turn  string  // of the answer that is being shown
	whole string  // how far it is
	shown string  // how much of that stands on the screen
	note  string  // the last one shown of it
	paper *writer // sets the answer that is being shown; nil: none
}

// begin shows the last of the history and greets.
func (s *session) begin(items []live.Item, o ChatOptions) {
	s.editor.commands = []string{"/help", "/new", "/quit", "/status", "/stop", "/title"}
	for _, it := range items {
		s.last = max(s.last, it.Seq)
		s.known[it.ID] = true
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
	items = items[max(0, len(items)-max(0, show)):]
	for _, it := range items {
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
		s.screen.line(oneLine("Enter sends · Ctrl-C stops an answer · Ctrl-D leaves · /help", s.screen.textWidth()))
	}
}

// waiting reports whether an answer is awaited or coming.
func (s *session) waiting() bool { return s.asked.id != "" || s.turn != "" || s.halt.id != "" }

// finished reports whether a pipe has nothing more for us.
func (s *session) finished() bool {
	return s.piped && (s.failed != nil || (s.ended && len(s.queue) == 0 && s.asked.id == ""))
}

// refresh draws the prompt where a line can be entered.
func (s *session) refresh() {
	if s.waiting() || len(s.queue) > 0 || s.left {
		return
	}
	s.stopping = false
	s.screen.draw(&s.editor)
}

// farewell is the last that is shown.
func (s *session) farewell() {
	s.finish()
	if s.asked.id != "" && !s.taken {
		s.say("· not sent: " + oneLine(s.asked.text, s.screen.textWidth()-len("· not sent: ")))
	}
	if s.screen.live && s.screen.column {
		s.screen.print("\n")
	}
}

// enter queues a line.
func (s *session) enter(text string) {
	if strings.TrimSpace(text) != "" {
		s.queue = append(s.queue, message{id: rand.Text(), text: text})
	}
}

// outgoing is what run may hand to post now, and where; a nil channel: nothing.
// A line goes when the one before it is answered.
func (s *session) outgoing() (chan<- message, message) {
	if s.asked.id == "" && s.turn == "" && len(s.queue) > 0 {
		s.asked, s.taken, s.due = s.queue[0], false, false
		s.queue = s.queue[1:]
		s.known[s.asked.id] = true // it stands on the screen already
		if s.asked.unseen {
			s.say(prompt + oneLine(s.asked.text, s.screen.textWidth()-len(indent)))
		}
	}
	switch {
	case s.sending:
		return nil, message{}
	case s.halt.id != "":
		return s.posts, s.halt
	case s.asked.id != "" && !s.taken:
		return s.posts, s.asked
	}
	return nil, message{}
}

// settle hears what became of a message that was handed in.
func (s *session) settle(o outcome) {
	s.sending = false
	switch {
	case o.stop:
		s.halt = message{}
	case o.err == nil:
		s.taken, s.due = true, true
	default:
		s.asked = message{}
		s.say("· " + plain(o.err))
		s.failed = fmt.Errorf("terminal: a message was refused: %s", plain(o.err))
	}
}

// keepsTrying tells why the daemon does not accept a message yet.
func (s *session) keepsTrying(why string) {
	if s.quiet && s.waits != nil {
		_, _ = fmt.Fprintf(s.waits, "%s Trying again; Ctrl-C ends this.\n", why) // a broken pipe ends us by itself
		return
	}
	s.say("· " + why + " Trying again …")
}

// say tells something that is no answer. On a pipe nobody would know it from one.
func (s *session) say(text string) {
	if s.quiet {
		return
	}
	s.pause()
	s.screen.line(text)
}

// pause makes room for something between two parts of the answer being shown.
// A word that has only begun is kept for the second part.
func (s *session) pause() {
	if s.paper != nil {
		if word := s.paper.word.String(); strings.HasSuffix(s.shown, word) {
			s.shown = strings.TrimSuffix(s.shown, word)
			s.paper.word.Reset()
		}
	}
	s.finish()
}

// finish ends the answer on the screen.
func (s *session) finish() {
	s.screen.hide()
	if s.paper != nil {
		s.paper.end()
		s.paper = nil
	}
}
