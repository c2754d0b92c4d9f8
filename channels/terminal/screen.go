package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"
)

// textColumns is the most that text is set in: longer lines read badly.
const textColumns = 100

// screen is what is shown: text that scrolls away above, and below it, while
// one is awaited, the line that is being written. On a pipe there is only text.
type screen struct {
	out     io.Writer
	size    func() (columns, rows int)
	live    bool // a terminal that we set ourselves: raw, with a prompt
	styled  bool
	pending bytes.Buffer

	column bool // text stands on the last line, so it must be ended first
	drawn  int  // the cursor's row below the first row of the drawn editor
	shown  bool // the editor is drawn
}

// terminalSize asks a terminal for its size, every time: it may change.
func terminalSize(fd int) func() (int, int) {
	return func() (int, int) {
		columns, rows, err := term.GetSize(fd)
		if err != nil || columns < 1 || rows < 1 {
			return 80, 24
		}
		return columns, rows
	}
}

// print writes text where text goes. The caller has hidden the editor.
func (s *screen) print(text string) {
	if text == "" {
		return
	}
	if cut := strings.LastIndexByte(text, '\n'); cut >= 0 {
		s.column = cut < len(text)-1
	} else {
		s.column = true
	}
	if s.live {
		text = strings.ReplaceAll(text, "\n", "\r\n") // raw mode does not do that for us
	}
	s.pending.WriteString(text)
}

// line writes text as a line of its own, dimmed.
func (s *screen) line(text string) {
	if s.column {
		s.print("\n")
	}
	if s.styled {
		text = styleDim + text + styleReset
	}
	s.print(text + "\n")
}

// hide takes the editor away.
func (s *screen) hide() {
	if !s.shown {
		return
	}
	s.home()
	s.pending.WriteString("\x1b[J")
	s.shown = false
}

// home puts the cursor where the drawn editor begins.
func (s *screen) home() {
	if s.drawn > 0 {
		fmt.Fprintf(&s.pending, "\x1b[%dA", s.drawn)
	}
	s.pending.WriteString("\r")
	s.drawn = 0
}

// draw shows the editor, or as much of it around the cursor as the terminal
// has rows.
func (s *screen) draw(e *editor) {
	if !s.live {
		return
	}
	if s.shown {
		s.home()
	} else if s.column {
		s.print("\n")
	}
	columns, height := s.size()
	rows, row, column := e.layout(columns)
	if len(rows) > height {
		top := min(max(0, row-height+1), len(rows)-height)
		rows, row = rows[top:top+height], row-top
	}
	s.pending.WriteString("\x1b[J" + strings.Join(rows, "\r\n"))
	if up := len(rows) - 1 - row; up > 0 {
		fmt.Fprintf(&s.pending, "\x1b[%dA", up)
	}
	s.pending.WriteString("\r")
	if column > 0 {
		fmt.Fprintf(&s.pending, "\x1b[%dC", column)
	}
	s.shown, s.drawn, s.column = true, row, false
}

// leave puts the cursor below the editor, which stays as a piece of the text.
func (s *screen) leave(e *editor) {
	if !s.shown {
		return
	}
	e.at = len(e.line)
	s.draw(e)
	s.pending.WriteString("\r\n")
	s.shown, s.drawn = false, 0
}

// clear empties the terminal.
func (s *screen) clear() {
	s.pending.WriteString("\x1b[H\x1b[2J")
	s.shown, s.drawn, s.column = false, 0, false
}

// flush hands everything to the terminal at once, so that nothing flickers.
func (s *screen) flush() error {
	if s.pending.Len() == 0 {
		return nil
	}
	_, err := s.out.Write(s.pending.Bytes())
	s.pending.Reset()
	return err
}

// textWidth is how wide text is set.
func (s *screen) textWidth() int {
	columns, _ := s.size()
	return max(20, min(columns, textColumns))
}
