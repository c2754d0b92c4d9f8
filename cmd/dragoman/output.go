package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"dragoman/sessions"
)

// output remembers its first write error. Otherwise "> file" on a full disk would
// leave half an answer and exit code 0.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.to.Write(p)
	if err != nil {
		o.err = err
	}
	return n, err
}

// written returns code, or reports that the output could not be written, which
// then matters more than any other error.
func (e *env) written(code int) int {
	if e.answer == nil || e.answer.err == nil {
		return code
	}
	return e.report(plainErrorf(cause(e.answer.err), "the output cannot be written"))
}

// misparsed prints what is wrong with args in fewer words than the parser.
func (e *env) misparsed(n *kong.Node, args []string, err error) int {
	text, verb := err.Error(), typed(n, args)
	if unknown, ok := noCommand(n, args, err); ok {
		text = unknown
	} else if rest, ok := strings.CutPrefix(text, "expected "); ok && verb != "" {
		text = strings.TrimSpace(verb) + " wants " + strings.Trim(rest, `"`)
	}
	for _, got := range []struct{ parsers, ours string }{
		{": expected a valid 64 bit int but got ", " wants a whole number, 0 or more"},
		{": expected int value but got ", " wants a whole number, 0 or more"},
		{": expected string value but got ", " wants a value"},
	} {
		if flag, _, ok := strings.Cut(text, got.parsers); ok {
			text = flag + got.ours
		}
	}
	_, _ = fmt.Fprintf(e.err, "dragoman: %s\nTry: %s%s\n", sessions.Printable(text), e.command("help"), verb)
	return exitUsage
}

// noCommand says which command args name that does not exist, if that is why the
// parser refused them.
func noCommand(n *kong.Node, args []string, err error) (string, bool) {
	verb := typed(n, args)
	for word := range strings.FieldsSeq(verb) {
		n = childOf(n, word)
	}
	rest, ok := strings.CutPrefix(plainly(err), "unexpected argument ")
	if !ok || n == nil || len(commandsOf(n)) == 0 {
		return "", false
	}
	return "there is no command " + strings.TrimSpace(verb+" "+strings.Replace(rest, ", did", "; did", 1)), true
}
