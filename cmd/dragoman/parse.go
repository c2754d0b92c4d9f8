package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"dragoman/sessions"
)

// kong's Parse, Run and Validate look up methods by name with reflection. In a
// program that does so, the linker has to keep every exported method of every
// type, which made this one half as large again. So this file takes kong's steps
// one by one. make lint fails if another such look-up comes in.

// command is what each command implements: kong finds it by the command line, and
// dragoman runs it.
type command interface {
	Run(e *env, c *cli) error
}

var errHelped = errors.New("the help was shown")

// parse reads args into the cli that the parser was made of. The error is
// errHelped, or one for [env.misparsed].
func parse(parser *kong.Kong, args []string) (*kong.Context, error) {
	line, err := kong.Trace(parser, args)
	if err != nil {
		return nil, err
	}
	if line.Error != nil {
		return nil, line.Error
	}
	for _, step := range line.Path {
		if step.Flag != nil && step.Flag == parser.Model.HelpFlag {
			if err := line.PrintUsage(false); err != nil {
				return nil, err
			}
			return nil, errHelped
		}
	}
	if err := line.Reset(); err != nil {
		return nil, err
	}
	if _, err := line.Apply(); err != nil {
		return nil, err
	}
	return line, complete(line)
}

// complete returns an error if a required flag, argument or command is missing,
// or a value is not one of those allowed.
func complete(line *kong.Context) error {
	var flags []string
	for _, step := range line.Path {
		if v := valueOf(step); v != nil && v.Enum != "" && !slices.Contains(v.EnumSlice(), fmt.Sprint(v.Target)) {
			return fmt.Errorf("%s must be one of %s, not %q", v.ShortSummary(), strings.Join(v.EnumSlice(), ", "), fmt.Sprint(v.Target))
		}
		for _, f := range step.Flags {
			if f.Required && !f.Set {
				flags = append(flags, f.Summary())
			}
		}
	}
	if flags != nil {
		return fmt.Errorf("missing flags: %s", strings.Join(flags, ", "))
	}
	chosen := line.Selected()
	if chosen == nil {
		chosen = line.Model.Node
	}
	var words []string
	for _, arg := range chosen.Positional {
		if arg.Required && !arg.Set {
			words = append(words, arg.Summary())
		}
	}
	if words != nil {
		return fmt.Errorf("expected %s", strings.Join(words, " "))
	}
	if verbs := commandsOf(chosen); len(verbs) > 0 {
		for _, n := range verbs {
			words = append(words, n.Name)
		}
		return fmt.Errorf("expected one of %s", strings.Join(words, ", "))
	}
	return nil
}

// valueOf is the flag or argument that a step of a line sets, or nil.
func valueOf(step *kong.Path) *kong.Value {
	if step.Flag != nil {
		return step.Flag.Value
	}
	return step.Positional
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
