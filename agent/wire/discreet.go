package wire

import (
	"errors"
	"strings"

	"dragoman/agent"
)

// Said is an error in a server's own words. Its text is one line without
// secrets, but may quote what people said: see [Discreet].
type Said struct {
	text, says string
	// Words are its code, type and message in lower case, as they came: only
	// for comparing.
	Words string
	// Param is the part of the request that is wrong, where that is said.
	Param string
	// Status is the HTTP status that it came with.
	Status int
}

func (e *Said) Error() string {
	if e.says == "" {
		return e.text + "the server gives no reason"
	}
	return e.text + "the server says: " + e.says
}

// Mentions reports whether one of phrases, in lower case, is in its words.
func (e *Said) Mentions(phrases []string) bool { return mentions(e.Words, phrases) }

// How many bytes in a row an error may not share with what was said in the
// conversation, and with the system prompt: the summary in it tells what was
// said, but the rest is in words that servers use as well.
const (
	quoteOfChat   = 8
	quoteOfPrompt = 24
)

// Discreet takes what people said out of a server's words: content filters
// and validators quote what they refuse, and no error may hold chat text.
func Discreet(err error, r *agent.Request) error {
	var me *agent.ModelError
	var said *Said
	if !errors.As(err, &me) || !errors.As(me.Err, &said) {
		return err
	}
	clean := *me
	clean.Err = errors.New((&Said{text: said.text, says: without(said.says, r)}).Error())
	return &clean
}

// without is what a server says, without pieces of r.
func without(says string, r *agent.Request) string {
	cut := func(text string, piece int) {
		says = cutPieces(says, strings.Join(strings.Fields(text), " "), piece, "[…]")
	}
	cut(r.System, quoteOfPrompt)
	for i := range r.Messages {
		m := &r.Messages[i]
		cut(m.Content, quoteOfChat)
		cut(m.Name, quoteOfChat)
		for _, call := range m.ToolCalls {
			cut(call.Arguments, quoteOfChat)
		}
	}
	return says
}

// Quote is what the server said, fit to be kept: without pieces of r.
func (e *Said) Quote(r *agent.Request) string { return without(e.says, r) }
