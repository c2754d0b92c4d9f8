package terminal

import (
	"context"
	"errors"
	"slices"
	"strings"

	"dragoman/channels/live"
)

// on takes an event of the daemon.
func (s *session) on(e live.Event) {
	switch e.Kind {
	case "hello":
		s.greeted(e.Hello)
	case "lost":
		if !s.lost {
			s.lost = true
			s.say("· connection lost, trying again …")
		}
	case "message":
		s.item(*e.Item)
	case "preview":
		s.preview(e.Preview.Turn, e.Preview.Text, e.Preview.Note)
	case "delta":
		if e.Preview.Turn == s.turn {
			s.preview(s.turn, s.whole+e.Preview.Text, "")
		}
	case "end":
		if e.Preview.Turn == s.turn {
			s.finish()
			s.forget()
		}
	case "state":
		s.due = true
	}
}

// forget ends the answer that is being shown.
func (s *session) forget() { s.turn, s.whole, s.shown, s.note = "", "", "", "" }

func (s *session) greeted(h *live.Hello) {
	if s.lost {
		s.lost = false
		s.say("· connected again")
	}
	s.forget() // what is there of an answer comes again
	s.due = true
	commands := []string{"/quit"} // ours: see leaves
	for _, c := range h.Commands {
		commands = append(commands, "/"+c.Name)
	}
	if len(h.Commands) > 0 {
		s.editor.commands = commands
	}
}

// item shows a message of the feed, once.
func (s *session) item(it live.Item) {
	s.last = max(s.last, it.Seq)
	// What was stopped, or what look found before it was sent, names no turn;
	// it is known by its beginning.
	ours := s.turn != "" && (it.Replaces == s.turn || (len(s.shown) >= minBeginning && strings.HasPrefix(it.Text, s.shown)))
	if !s.known[it.ID] {
		s.known[it.ID] = true
		if it.From == live.FromDragoman {
			s.apology = nil
			if it.Failed {
				s.apology = errors.New("terminal: the last message was not answered, as the text above says")
			}
			s.reply(it.Text, ours)
		} else {
			s.say(prompt + oneLine(it.Text, s.screen.textWidth()-len(indent))) // from another window
		}
	}
	if ours {
		s.forget()
	}
}

// preview shows how far an answer is.
func (s *session) preview(turn, text, note string) {
	if s.quiet {
		return
	}
	if turn != s.turn {
		s.forget()
		s.turn = turn
	}
	s.whole = text
	if text == "" && note != "" && note != s.note {
		s.say("· " + oneLine(note, s.screen.textWidth()-2))
	}
	s.note = note
	if !strings.HasPrefix(text, s.shown) {
		s.finish() // another text: it begins on a line of its own
		s.shown = ""
	}
	s.paint(text[len(s.shown):])
	s.shown = text
}

// paint adds text to the answer on the screen.
func (s *session) paint(text string) {
	if text == "" {
		return
	}
	if s.paper == nil {
		if text = strings.TrimLeft(text, " \n"); text == "" {
			return
		}
		s.screen.hide()
		if s.screen.column {
			s.screen.print("\n")
		}
		s.paper = &writer{emit: s.screen.print, columns: s.screen.textWidth(), styled: s.screen.styled}
	}
	s.paper.write(text)
}

// reply shows a whole answer, or what a preview has not shown of it.
func (s *session) reply(text string, ours bool) {
	if s.quiet {
		text = printable(strings.ReplaceAll(text, "\r\n", "\n"))
		s.screen.print(strings.TrimRight(text, "\n") + "\n")
		return
	}
	if ours && strings.HasPrefix(text, s.shown) {
		text = text[len(s.shown):]
	} else {
		s.finish()
	}
	s.paint(text)
	s.finish()
	s.screen.print("\n")
}

// look asks the feed what became of our message. Only this says that it is
// answered: when it no longer waits, everything that answers it stands there.
func (s *session) look(ctx context.Context) {
	if s.asked.id == "" || !s.taken || s.lost {
		return
	}
	s.due = false
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	items, err := s.client.Feed(ctx, 0, 100)
	if err != nil {
		return // later again
	}
	at := slices.IndexFunc(items, func(it live.Item) bool { return it.ID == s.asked.id })
	switch {
	case at < 0:
		s.say("· this was not accepted")
		s.failed = errors.New("terminal: a message was not accepted")
		s.asked = message{}
	case !items[at].Waiting:
		for _, it := range items[at:] {
			s.item(it)
		}
		s.asked = message{}
	}
}
