package openai

import (
	"errors"
	"strings"

	"dragoman/agent"
)

// saysPrefix begins the part of an error's text that a server wrote.
const saysPrefix = "the server says: "

// How many bytes in a row an error may not share with what was said in the
// conversation, and with the system prompt: the summary in it tells what was
// said, but the rest is in words that servers use as well.
const (
	quoteOfChat   = 8
	quoteOfPrompt = 24
)

// discreet takes what people said out of a server's words: content filters
// and validators quote what they refuse, and no error may hold chat text.
func discreet(err error, r *agent.Request) error {
	var me *agent.ModelError
	if !errors.As(err, &me) {
		return err
	}
	before, says, found := strings.Cut(me.Err.Error(), saysPrefix)
	if !found {
		return err
	}
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
	clean := *me
	clean.Err = errors.New(before + saysPrefix + says)
	return &clean
}
