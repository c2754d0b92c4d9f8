package httpapi

import (
	"errors"
	"strings"

	"dragoman/sessions"
)

// packageNames are those of our packages, with which errors begin. They tell a
// programmer where to look, and nobody else anything.
const packageNames = " agent alerts anthropic app backup channels config database console demo dispatch durable erasure event exchange file gateway goose heartbeat hooks httpapi irc lazily linking live llm " +
	"engine markup mcp media memory metrics models openai output postgres provider recap rows rules sessions spool sqlite storage telegram terminal tokens tools web whatsapp window wire "

// Plain is err as a person reads it: each error of the chain without the name
// of the package that it begins with. What an error says behind that is left
// alone, whatever it looks like: it may be the name of a file. An error with a
// method Plain() string says itself how it reads. "" for nil.
func Plain(err error) string {
	if err == nil {
		return ""
	}
	if newer, ok := errors.AsType[*sessions.NewerError](err); ok {
		return newer.Sentence() // where it was found is no matter
	}
	if p, ok := err.(interface{ Plain() string }); ok {
		return p.Plain()
	}
	var causes []error
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		causes = []error{w.Unwrap()}
	case interface{ Unwrap() []error }:
		causes = w.Unwrap()
	}
	var b strings.Builder
	rest := err.Error()
	for _, cause := range causes {
		if cause == nil {
			continue
		}
		// The last one ends the text, as a rule: its words may stand before, too.
		at, text := -1, cause.Error()
		if len(causes) == 1 && strings.HasSuffix(rest, text) {
			at = len(rest) - len(text)
		} else {
			at = strings.Index(rest, text)
		}
		if at < 0 {
			continue // an error with words of its own for its cause
		}
		b.WriteString(own(rest[:at], b.Len() == 0))
		b.WriteString(Plain(cause))
		rest = rest[at+len(text):]
	}
	b.WriteString(own(rest, b.Len() == 0))
	return b.String()
}

// own is what an error says by itself; the first part begins with its package.
func own(text string, first bool) string {
	name, rest, ok := strings.Cut(text, ": ")
	if first && ok && name != "" && !strings.Contains(name, " ") && strings.Contains(packageNames, " "+name+" ") {
		return rest
	}
	return text
}
