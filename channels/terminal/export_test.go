package terminal

import "strings"

var names = map[keyName]string{
	keyText: "text", keyPaste: "paste", keyEnter: "enter", keyNewline: "newline", keyTab: "tab", keyBackspace: "backspace",
	keyDelete: "delete", keyLeft: "left", keyRight: "right", keyUp: "up", keyDown: "down", keyHome: "home", keyEnd: "end",
	keyWordLeft: "word-left", keyWordRight: "word-right", keyInterrupt: "interrupt", keyEOF: "eof",
}

// Keys are the keys in what several reads brought.
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

// Edit is the line after what was typed, with "|" for the cursor.
func Edit(history []string, bytes string) string {
	e := typed(history, bytes)
	return strings.Join(e.line[:e.at], "") + "|" + strings.Join(e.line[e.at:], "")
}

// Layout is how that line stands on a screen.
func Layout(bytes string, columns int) ([]string, int, int) { return typed(nil, bytes).layout(columns) }

// Set sets Markdown that comes in pieces of so many bytes; styles are <b>, <c>,
// <d> and </>.
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

// OneLine is a look at a text.
func OneLine(text string, columns int) string { return oneLine(text, columns) }
