package api

import (
	"errors"
	"strings"

	"dragoman/sessions"
)

// packageNames are the names of our packages, with which errors begin. They
// only help a programmer.
const packageNames = " agent alerts anthropic app backup channels config database console demo dispatch durable erasure event exchange file gateway goose heartbeat hooks api irc lazily linking live llm " +
	"engine markup mcp media memory metrics models openai output postgres provider recap rows rules sessions spool sqlite storage telegram terminal tokens tools web whatsapp window wire "

// Plain is err as a person reads it: each error of the chain without the name
// of its package. The rest of an error stays, whatever it looks like, because
// it may be the name of a file. An error with a method Plain() string chooses
// its own words. Plain is "" for nil.
func Plain(err error) string {
	if err == nil {
		return ""
	}
	if newer, ok := errors.AsType[*sessions.NewerError](err); ok {
		return newer.Sentence() // the errors around it add nothing
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
		// A single cause usually ends the text. Its words may also occur before.
		at, text := -1, cause.Error()
		if len(causes) == 1 && strings.HasSuffix(rest, text) {
			at = len(rest) - len(text)
		} else {
			at = strings.Index(rest, text)
		}
		if at < 0 {
			continue // the error has its own words for this cause
		}
		b.WriteString(withoutPackage(rest[:at], b.Len() == 0))
		b.WriteString(Plain(cause))
		rest = rest[at+len(text):]
	}
	b.WriteString(withoutPackage(rest, b.Len() == 0))
	return b.String()
}

// withoutPackage is text without the name of a package at the beginning of an
// error.
func withoutPackage(text string, first bool) string {
	name, rest, ok := strings.Cut(text, ": ")
	if first && ok && name != "" && !strings.Contains(name, " ") && strings.Contains(packageNames, " "+name+" ") {
		return rest
	}
	return text
}
