package terminal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"dragoman/channels/live"
)

func (s *session) handleEvent(e live.Event) {
	switch e.Kind {
	case "hello":
		s.handleHello(e.Hello)
	case "lost":
		if !s.disconnected {
			s.disconnected = true
			s.notice("· connection lost, trying again …")
		}
	case "message":
		s.showItem(*e.Item)
	case "preview":
		s.showPreview(e.Preview.Turn, e.Preview.Text, e.Preview.Note)
	case "delta":
		if e.Preview.Turn == s.turn {
			s.showPreview(s.turn, s.answer+e.Preview.Text, "")
		}
	case "end":
		if e.Preview.Turn == s.turn {
			s.finishAnswer()
			s.forgetAnswer()
		}
	case "tool":
		s.showTool(e.Tool.Turn, e.Tool.Name)
	case "state":
		s.lookDue = true
	}
}

// toolLines counts the calls of each tool in one turn: as we hear of them in two ways, and
// as they are on the screen.
type toolLines struct {
	turn          string
	called, noted map[string]int
	shown         map[string]int
}

// showTool shows a line for each call of a tool. A preview's note may have shown the call
// before.
func (s *session) showTool(turn, name string) {
	if s.isOver(turn) {
		return
	}
	tools := s.toolsOf(turn)
	note := name + " …"
	tools.called[note]++
	s.showCall(note, tools.called[note])
}

// isOver reports whether the answer of a turn is on the screen, so that news of it are late.
func (s *session) isOver(turn string) bool { return turn != "" && turn == s.over }

// showNote shows what a turn is doing. If that is a call of a tool, showTool may have shown
// it before; calls on another node are only noted.
func (s *session) showNote(turn, note string) {
	if note != "" && note != s.note {
		tools := s.toolsOf(turn)
		tools.noted[note]++
		s.showCall(note, tools.noted[note])
	}
	s.note = note
}

func (s *session) toolsOf(turn string) *toolLines {
	if s.tools.shown == nil || s.tools.turn != turn {
		s.tools = toolLines{turn: turn, called: map[string]int{}, noted: map[string]int{}, shown: map[string]int{}}
	}
	return &s.tools
}

// showCall shows a line for the call numbered n of those with this note, once.
func (s *session) showCall(note string, n int) {
	if n > s.tools.shown[note] {
		s.tools.shown[note] = n
		s.notice("· " + oneLine(note, s.screen.textWidth()-2))
	}
}

func (s *session) forgetAnswer() {
	s.turn = ""
	s.answer = ""
	s.printed = ""
	s.note = ""
}

func (s *session) handleHello(h *live.Hello) {
	if s.disconnected {
		s.disconnected = false
		s.notice("· connected again")
	}
	s.forgetAnswer() // the daemon sends the answer so far again
	s.lookDue = true
	commands := []string{"/quit"} // the only one that is not the daemon's: see isQuit
	for _, c := range h.Commands {
		commands = append(commands, "/"+c.Name)
	}
	if len(h.Commands) > 0 {
		s.editor.commands = commands
	}
}

// showItem shows a message of the feed, once.
func (s *session) showItem(it live.Item) {
	s.last = max(s.last, it.Seq)
	// A stopped answer, or one that checkAnswered found before it was sent, names no
	// turn. It is recognised by its beginning.
	ours := s.turn != "" && (it.Replaces == s.turn || (len(s.printed) >= minBeginning && strings.HasPrefix(it.Text, s.printed)))
	if !s.seen[it.ID] {
		s.seen[it.ID] = true
		if it.From == live.FromDragoman {
			s.apology = nil
			if it.Failed {
				s.apology = errors.New("terminal: the last message was not answered, as the text above says")
			}
			s.showAnswer(it.Text, ours)
			s.noteAsked(it)
		} else {
			s.noteAnswer(it.Text)
			s.notice(prompt + oneLine(it.Text, s.screen.textWidth()-len(indent))) // from another window
		}
	}
	if ours {
		s.forgetAnswer()
	}
}

func (s *session) showPreview(turn, text, note string) {
	if s.quiet || s.isOver(turn) {
		return
	}
	if turn != s.turn {
		s.forgetAnswer()
		s.turn = turn
	}
	s.answer = text
	if !strings.HasPrefix(text, s.printed) {
		s.finishAnswer() // a different text starts on a new line
		s.printed = ""
	}
	s.print(text[len(s.printed):])
	s.printed = text
	s.showNote(turn, note)
}

func (s *session) print(text string) {
	if text == "" {
		return
	}
	if s.writer == nil {
		text = strings.TrimLeft(text, " \n")
		if text == "" {
			return
		}
		s.screen.hide()
		if s.screen.midLine {
			s.screen.print("\n")
		}
		s.writer = &writer{emit: s.screen.print, columns: s.screen.textWidth(), styled: s.screen.styled}
	}
	s.writer.write(text)
}

// showAnswer shows a complete answer, or the part that its preview has not shown.
func (s *session) showAnswer(text string, ours bool) {
	if s.quiet {
		text = printable(strings.ReplaceAll(text, "\r\n", "\n"))
		s.screen.print(strings.TrimRight(text, "\n") + "\n")
		return
	}
	if ours && strings.HasPrefix(text, s.printed) {
		text = text[len(s.printed):]
	} else {
		s.finishAnswer()
	}
	s.print(text)
	s.finishAnswer()
	s.screen.print("\n")
}

// checkAnswered reads the feed to see whether our message is answered. Only the feed says
// so: when the message no longer waits, everything that answers it is there.
func (s *session) checkAnswered(ctx context.Context) {
	if s.current.id == "" || !s.accepted || s.disconnected {
		return
	}
	s.lookDue = false
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	items, err := s.client.Feed(ctx, 0, 100)
	if err != nil {
		return // try again later
	}
	at := slices.IndexFunc(items, func(it live.Item) bool { return it.ID == s.current.id })
	switch {
	case at < 0:
		s.notice("· this message was not accepted")
		s.failed = errors.New("terminal: a message was not accepted")
		s.current = message{}
	case !items[at].Waiting:
		s.over = cmp.Or(s.turn, s.tools.turn)
		for _, it := range items[at:] {
			s.showItem(it)
		}
		s.current = message{}
		s.endAsked()
	}
}
