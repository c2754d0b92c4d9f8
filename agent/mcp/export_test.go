package mcp

import (
	"io"
	"strings"
)

// Filtered is what a program's stdout comes to, and the lines that were dropped.
func Filtered(out string) (passed string, dropped []string, err error) {
	f := newFilter(strings.NewReader(out), &tail{})
	text, err := io.ReadAll(f)
	return string(text), f.dropped.all(), err
}

// What ends a connection.
var (
	ErrFrame = errFrame
	ErrDepth = errDepth
	ErrJSON  = errJSON
	ErrMany  = errMany
)

// Progress is progressWords.
var Progress = progressWords

// Words is visibleWords, and Line is cleanText.
var (
	Words = visibleWords
	Line  = cleanText
)

// ProgramFiles is programFiles.
var ProgramFiles = programFiles

// FormOf is formOf.
var FormOf = formOf

// EffortOf is effortOf, and MaxSchemaEffort its bound.
var EffortOf = effortOf

const MaxSchemaEffort = maxSchemaEffort

// Pace is what slows down the reading of a program.
func Pace() func(int) { return (&pace{}).spend }
