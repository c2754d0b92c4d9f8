package openai

import (
	"errors"
	"strings"

	"dragoman/agent"
)

// saysPrefix begins the part of an error's text that a server wrote.
const saysPrefix = "the server says: "

// longestKept is how many bytes in a row an error may share with what was
// said in the conversation.
const longestKept = 8

// discreet takes what people said out of a server's words: content filters
// and validators quote what they refuse, and no error may hold chat text.
func discreet(err error, r agent.Request) error {
	var me *agent.ModelError
	if !errors.As(err, &me) {
		return err
	}
	before, says, found := strings.Cut(me.Err.Error(), saysPrefix)
	if !found {
		return err
	}
	for _, m := range r.Messages {
		said := []string{m.Content, m.Name}
		for _, call := range m.ToolCalls {
			said = append(said, call.Arguments)
		}
		for _, text := range said {
			says = cutPieces(says, strings.Join(strings.Fields(text), " "), longestKept, "[…]")
		}
	}
	clean := *me
	clean.Err = errors.New(before + saysPrefix + says)
	return &clean
}
