// Command dragoman runs the gateway and operates it.
//
// It holds flags, tables and signals; what the daemon does is in
// internal/app; app.go has most calls to it. The verbs for
// sessions, queue, jobs and pairing speak to the running daemon over its
// socket, or open the store themselves when none runs.
//
// It ends with code 0 if all went well, 1 if something failed, and 64 if the
// command line or the configuration is wrong. A Go panic ends with 2, which the
// service manager must not take for a mistake of the operator's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"dragoman/internal/config"
	"dragoman/internal/httpapi"
	"dragoman/sessions"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitDown   = 3  // status: no daemon runs
	exitUsage  = 64 // EX_USAGE of sysexits(3)
)

func main() { os.Exit(realMain()) }

// realMain is main for the tests of the whole program, which call it in a
// process of its own.
func realMain() int {
	e := &env{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now, daemon: realDaemon,
		program:     shellWord(os.Args[0]),
		interactive: term.IsTerminal(int(os.Stdin.Fd())),
	}
	e.plain = !term.IsTerminal(int(os.Stdout.Fd())) || os.Getenv("NO_COLOR") != ""
	e.size = func() (columns, rows int) {
		columns, rows, _ = term.GetSize(int(os.Stdout.Fd()))
		return columns, rows
	}
	e.width, _ = e.size()
	return run(context.Background(), os.Args[1:], e)
}

// env is what the commands see of the world.
type env struct {
	in       io.Reader
	out, err io.Writer
	// screen is out itself, for what speaks to a terminal or to a log; answer
	// is out for all others, and knows whether it was written.
	screen io.Writer
	answer *output
	daemon daemon
	now    func() time.Time
	// width of the terminal; 0 if the output is none, then nothing is cut.
	width int
	// size of the terminal as it is now, zeros if the output is none.
	size func() (columns, rows int)
	// interactive: a person can answer questions.
	interactive bool
	// plain: the output is no terminal, or should be treated as none.
	plain bool
	// parser is known to the commands that describe the others.
	parser *kong.Kong
	ctx    context.Context // of this one run of the program
	// program is how this one was called, and config the file that was named
	// for it, or "": hints are commands that can be pasted.
	program, config string
	// verb is the command that was chosen, like "sessions list".
	verb string
}

// usageError is a mistake on the command line.
type usageError struct{ sentence string }

func (e *usageError) Error() string { return e.sentence }

// errSaid ends a command that has said already what is wrong.
var errSaid = errors.New("something is wrong (see above)")

// errDown ends a status that has said that no daemon runs.
var errDown = errors.New("no daemon is running (see above)")

// run is the program with its world passed in; it returns the exit code.
func run(ctx context.Context, args []string, e *env) int {
	e.screen, e.answer = e.out, &output{to: e.out}
	e.out = e.answer
	var c cli
	parser, err := kong.New(&c,
		kong.Name("dragoman"),
		kong.Description("One assistant, many chats: Telegram, WhatsApp, IRC, a web page, a terminal. Every message is saved to disk before its network is told that it arrived."),
		kong.Writers(e.out, e.err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
	if err != nil {
		panic(err) // our own bug: the struct's tags
	}
	e.ctx, e.parser = ctx, parser
	if e.program == "" {
		e.program = "dragoman"
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == "--version" { // as every program is asked first
		args = append([]string{"version"}, args[1:]...)
	}
	line, err := parse(parser, args)
	if errors.Is(err, errHelped) {
		return e.written(exitOK)
	}
	if err != nil {
		if e.answer.err != nil { // of the help
			return e.written(exitFailed)
		}
		return e.misparsed(parser.Model.Node, args, err)
	}
	e.config, e.verb = c.Config, strings.TrimPrefix(line.Selected().FullPath(), parser.Model.Name+" ")
	err = line.Selected().Target.Addr().Interface().(command).Run(e, &c)
	if e.answer.err != nil {
		return e.written(exitFailed)
	}
	return e.report(err)
}

// typed names the command that args began with, with a space before each
// word: whoever mistyped the rest wants the help of that one.
func typed(n *kong.Node, args []string) string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-c" || args[0] == "--config" {
			args = args[1:]
		}
		args = args[min(1, len(args)):]
	}
	for _, child := range n.Children {
		if len(args) > 0 && child.Name == args[0] {
			return " " + child.Name + typed(child, args[1:])
		}
	}
	return ""
}

// report writes an error where a person sees it and chooses the exit code.
func (e *env) report(err error) int {
	var usage *usageError
	var problems config.Problems
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &problems):
		_, _ = fmt.Fprintln(e.err, sessions.Printable(strings.TrimPrefix(problems.Error(), "config: ")))
		return exitUsage
	case errors.As(err, &usage):
		_, _ = fmt.Fprintf(e.err, "dragoman: %s\n", usage.sentence)
		return exitUsage
	case errors.Is(err, errDown):
		return exitDown
	case errors.Is(err, errSaid), errors.Is(err, context.Canceled):
		return exitFailed
	}
	text := plainly(err)
	if _, ok := errors.AsType[*httpapi.EndedError](err); ok {
		text = e.ownCommands(text)
	}
	_, _ = fmt.Fprintf(e.err, "dragoman: %s\n", text)
	return exitFailed
}

// plainly is err as a person reads it; "" for nil.
func plainly(err error) string {
	if err == nil {
		return ""
	}
	return sessions.Printable(httpapi.Plain(err))
}

// told is an error whose words are for people as they stand: they may begin
// with the name of a file, whatever that looks like.
type told struct {
	text  string
	cause error
}

func (e *told) Error() string { return e.text }

// Plain is for [httpapi.Plain].
func (e *told) Plain() string { return e.text }

// Unwrap returns the cause, or nil.
func (e *told) Unwrap() error { return e.cause }

// tell makes an error that says what, and why if there is a cause.
func tell(cause error, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if cause != nil {
		text += ": " + plainly(cause)
	}
	return &told{text, cause}
}

// say writes one line for people.
func (e *env) say(format string, args ...any) {
	_, _ = fmt.Fprintf(e.out, format+"\n", args...)
}
