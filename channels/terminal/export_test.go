package terminal

import "strings"

var names = map[keyName]string{
	keyText: "text", keyPaste: "paste", keyEnter: "enter", keyNewline: "newline", keyTab: "tab", keyBackspace: "backspace",
	keyDelete: "delete", keyLeft: "left", keyRight: "right", keyUp: "up", keyDown: "down", keyHome: "home", keyEnd: "end",
	keyWordLeft: "word-left", keyWordRight: "word-right", keyInterrupt: "interrupt", keyEOF: "eof",
}

// Keys returns the keys in the bytes of several reads.
func Keys(reads ...string) []string {
	var board keyboard
	var got []string
	last := keyNone
	for _, r := range reads {
		for _, k := range board.read([]byte(r)) {
			if k.name == keyText && last == keyText {
				got[len(got)-1] += k.text
				continue
			}
			got = append(got, strings.TrimSuffix(names[k.name]+" "+k.text, " "))
			last = k.name
		}
	}
	return got
}

func typed(history []string, bytes string) *editor {
	e := &editor{commands: []string{"/help", "/new", "/status", "/stop"}}
	for _, h := range history {
		e.remember(h)
	}
	var board keyboard
	for _, k := range board.read([]byte(bytes)) {
		if k.name == keyEOF {
			k.name = keyDelete
		}
		e.press(k)
	}
	return e
}

// Edit returns the line after that input, with "|" for the cursor.
func Edit(history []string, bytes string) string {
	e := typed(history, bytes)
	return strings.Join(e.line[:e.at], "") + "|" + strings.Join(e.line[e.at:], "")
}

// Layout returns the screen rows of the line after that input, and the cursor.
func Layout(bytes string, columns int) ([]string, int, int) { return typed(nil, bytes).layout(columns) }

// Set formats Markdown that arrives in pieces of that many bytes. Styles become <b>,
// <c>, <d> and </>.
func Set(markdown string, columns, piece int) string {
	var b strings.Builder
	w := writer{emit: func(s string) { b.WriteString(s) }, columns: columns, styled: true}
	// A character is never cut: previews are text, not bytes.
	for from := 0; from < len(markdown); {
		to := min(len(markdown), from+piece)
		for to < len(markdown) && markdown[to]&0xc0 == 0x80 {
			to++
		}
		w.write(markdown[from:to])
		from = to
	}
	w.end()
	return strings.NewReplacer(styleBold, "<b>", styleStruck, "<s>", styleCode, "<c>", styleDim, "<d>", styleReset, "</>").Replace(b.String())
}

// SetPlain is Set without styles.
func SetPlain(markdown string, columns int) string {
	var b strings.Builder
	w := writer{emit: func(s string) { b.WriteString(s) }, columns: columns}
	w.write(markdown)
	w.end()
	return b.String()
}

// OneLine shortens a text to one line.
func OneLine(text string, columns int) string { return oneLine(text, columns) }
