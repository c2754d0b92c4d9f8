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

// redact removes the pieces of r that message quotes. Servers quote requests in
// their errors, and logs must not have what people said.
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

// scrub makes a server's words fit to be shown: one short line without any
// piece of a secret. A server may repeat only part of the key, so every piece
// of 8 bytes or more is replaced.
func scrub(s string, secrets []string) string {
	const most, piece = 300, 8
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s[:min(len(s), 4096)], "")), " ")
	// Servers that validate requests with pydantic repeat the refused message, and
	// people's words do not belong in errors.
	for _, echo := range []string{"'input':", `"input":`, "input_value="} {
		if i := strings.Index(s, echo); i > 0 {
			s = s[:i] + "…"
		}
	}
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		s = strings.ReplaceAll(s, secret, "[key]")
		s = replacePieces(s, secret, piece, "[key]")
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// replacePieces replaces every run of at least piece bytes that s shares with
// secret.
func replacePieces(s, secret string, piece int, by string) string {
	if len(secret) < piece {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := 0
		for i+max(n+1, piece) <= len(s) && strings.Contains(secret, s[i:i+max(n+1, piece)]) {
			n = max(n+1, piece)
		}
		if n == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(by)
		i += n
	}
	return b.String()
}
