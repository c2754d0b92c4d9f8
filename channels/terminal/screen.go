package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"
)

// textColumns is the widest that text is set: longer lines are hard to read.
const textColumns = 100

// screen shows text that scrolls up and, below it, the line being edited while input is
// expected. On a pipe there is only text.
type screen struct {
	out     io.Writer
	size    func() (columns, rows int)
	raw     bool // the terminal is in raw mode and has a prompt
	styled  bool
	pending bytes.Buffer

	midLine     bool // the cursor is after text, so that line must be ended first
	cursorRow   int  // the cursor's row, counted from the first row of the editor
	editorShown bool // the editor is on the screen
}

// terminalSize asks the terminal for its size at each call, because it may change.
func terminalSize(fd int) func() (int, int) {
	return func() (int, int) {
		columns, rows, err := term.GetSize(fd)
		if err != nil || columns < 1 || rows < 1 {
			return 80, 24
		}
		return columns, rows
	}
}

// print writes text. The caller has hidden the editor.
func (s *screen) print(text string) {
	if text == "" {
		return
	}
	s.midLine = !strings.HasSuffix(text, "\n")
	if s.raw {
		text = strings.ReplaceAll(text, "\n", "\r\n") // in raw mode the terminal does not
	}
	s.pending.WriteString(text)
}

// line writes text on its own line, dimmed.
func (s *screen) line(text string) {
	if s.midLine {
		s.print("\n")
	}
	if s.styled {
		text = styleDim + text + styleReset
	}
	s.print(text + "\n")
}

func (s *screen) hide() {
	if !s.editorShown {
		return
	}
	s.toEditorTop()
	s.pending.WriteString("\x1b[J")
	s.editorShown = false
}

func (s *screen) toEditorTop() {
	if s.cursorRow > 0 {
		fmt.Fprintf(&s.pending, "\x1b[%dA", s.cursorRow)
	}
	s.pending.WriteString("\r")
	s.cursorRow = 0
}

// draw shows the editor, or the part around the cursor that fits on the terminal.
func (s *screen) draw(e *editor) {
	if !s.raw {
		return
	}
	if s.editorShown {
		s.toEditorTop()
	} else if s.midLine {
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
	s.editorShown = true
	s.cursorRow = row
	s.midLine = false
}

// keepEditor moves the cursor below the editor, which stays on the screen as text.
func (s *screen) keepEditor(e *editor) {
	if !s.editorShown {
		return
	}
	e.at = len(e.line)
	s.draw(e)
	s.pending.WriteString("\r\n")
	s.editorShown, s.cursorRow = false, 0
}

func (s *screen) clear() {
	s.pending.WriteString("\x1b[H\x1b[2J")
	s.editorShown = false
	s.cursorRow = 0
	s.midLine = false
}

// flush writes everything at once, to avoid flicker.
func (s *screen) flush() error {
	_, err := s.pending.WriteTo(s.out)
	return err
}

func (s *screen) textWidth() int {
	columns, _ := s.size()
	return max(20, min(columns, textColumns))
}
