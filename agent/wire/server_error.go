package wire

import (
	"errors"
	"strings"

	"dragoman/agent"
)

// ServerError is an error in a server's own words. Its text is one line without
// secrets, but it may quote the conversation: see [Redact].
type ServerError struct {
	prefix, message string
	// Words are the code, type and message of the error in lower case. They are
	// only for comparing, because they may hold secrets.
	Words string
	// Param names the refused part of the request, if the server says it.
	Param string
	// Status is the HTTP status of the response.
	Status int
}

func (e *ServerError) Error() string {
	if e.message == "" {
		return e.prefix + "the server gives no reason"
	}
	return e.prefix + "the server says: " + e.message
}

// Mentions reports whether Words contain one of phrases, which are in lower
// case.
func (e *ServerError) Mentions(phrases []string) bool { return containsAny(e.Words, phrases) }

// An error may not share this many bytes in a row with the conversation, or
// with the system prompt. The prompt's limit is higher, because servers use
// many of the same words; it has one because the prompt may hold a summary.
const (
	chatQuote   = 8
	promptQuote = 24
)

// Redact removes people's words from a server's error: content filters and
// validators quote what they refuse, and no error may hold chat text.
func Redact(err error, r *agent.Request) error {
	var me *agent.ModelError
	var server *ServerError
	if !errors.As(err, &me) || !errors.As(me.Err, &server) {
		return err
	}
	clean := *me
	clean.Err = errors.New((&ServerError{prefix: server.prefix, message: redact(server.message, r)}).Error())
	return &clean
}

// redact returns message without pieces of r.
func redact(message string, r *agent.Request) string {
	cut := func(text string, piece int) {
		message = replacePieces(message, strings.Join(strings.Fields(text), " "), piece, "[…]")
	}
	cut(r.System, promptQuote)
	for i := range r.Messages {
		m := &r.Messages[i]
		cut(m.Content, chatQuote)
		cut(m.Name, chatQuote)
		for _, call := range m.ToolCalls {
			cut(call.Arguments, chatQuote)
		}
	}
	return message
}

// Quote returns the server's message without pieces of r, so that it can be
// stored.
func (e *ServerError) Quote(r *agent.Request) string { return redact(e.message, r) }
