// Package plain turns errors into the words that people read. Errors in the log begin
// with the packages that they passed through, which only help a programmer.
//
// The promise: [Text] removes the names of our packages in front of an error and of its
// causes, and nothing else, because whatever else looks like one may be the name of a
// file, a channel or a person.
//
// packages.txt has the names. The package's test writes it from the sources (make
// generate), so that no list has to be kept by hand. Its functions are pure; several
// goroutines may call them.
package plain

import (
	_ "embed"
	"errors"
	"slices"
	"strings"

	"dragoman/sessions"
)

// packages are the names of our packages, one a line.
//
//go:embed packages.txt
var packages string

// Text is err as a person reads it: each error of the chain without the name
// of its package. The rest of an error stays, whatever it looks like, because
// it may be the name of a file. An error with a method Plain() string chooses
// its own words. Text is "" for nil.
func Text(err error) string {
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
		b.WriteString(Text(cause))
		rest = rest[at+len(text):]
	}
	b.WriteString(withoutPackage(rest, b.Len() == 0))
	return b.String()
}

// withoutPackage is text without the name of a package at the beginning of an
// error.
func withoutPackage(text string, first bool) string {
	name, rest, found := strings.Cut(text, ": ")
	if first && found && slices.Contains(strings.Fields(packages), name) {
		return rest
	}
	return text
}
