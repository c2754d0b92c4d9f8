// Command dragoman runs the gateway and operates it.
//
// This package holds flags, tables and signals; the daemon itself is
// internal/app. The commands for sessions, queue, jobs and pairing talk to the
// running daemon over its socket, or open the store themselves if none runs.
//
// Exit codes: 0 if all went well, 1 if something failed, 64 if the command line
// or the configuration is wrong. A Go panic exits with 2; the service manager
// must not mistake that for an error of the operator's.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/llm"
	"dragoman/internal/plain"
	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/exchange"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitDown   = 3  // status: no daemon runs
	exitUsage  = 64 // EX_USAGE of sysexits(3)
)

func main() { os.Exit(realMain()) }

// realMain is main without os.Exit: the story tests call it in a process for
// itself.
func realMain() int {
	app.RunChild()
	e := &env{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now, daemon: realDaemon,
		program:     shellWord(os.Args[0]),
		interactive: term.IsTerminal(int(os.Stdin.Fd())),
	}
	e.terminal = term.IsTerminal(int(os.Stdout.Fd()))
	e.plain = !e.terminal || os.Getenv("NO_COLOR") != ""
	e.size = func() (columns, rows int) {
		columns, rows, _ = term.GetSize(int(os.Stdout.Fd()))
		return columns, rows
	}
	e.width, _ = e.size()
	return run(context.Background(), os.Args[1:], e)
}

// env is everything that the commands use of the outside world. Tests replace
// it.
type env struct {
	in       io.Reader
	out, err io.Writer
	// screen is the real out, for the chat and the daemon. All other commands
	// write to answer, which remembers write errors.
	screen io.Writer
	answer *output
	daemon daemon
	now    func() time.Time
	// width of the terminal at the start; 0 if the output is no terminal, and then
	// nothing is cut.
	width int
	// size is the terminal's now; zeros if the output is no terminal.
	size func() (columns, rows int)
	// interactive: a person can answer questions.
	interactive bool
	// terminal: the output is one.
	terminal bool
	// plain: the output is no terminal, or should be treated as none.
	plain bool
	// parser is for the commands that describe other commands.
	parser *kong.Kong
	ctx    context.Context // of this one run of the program
	// program is the path by which this program was called, and config the value
	// of --config, or "". Hints repeat both, so that they can be pasted.
	program, config string
	// broken: the configuration has problems that the running daemon does not have.
	broken bool
	// verb is the chosen command, like "sessions list".
	verb string
}

// usageError is a mistake in the command line. It has its own exit code.
type usageError struct{ sentence string }

func (e *usageError) Error() string { return e.sentence }

// errSaid ends a command that has already printed what is wrong.
var errSaid = errors.New("something is wrong (see above)")

// errDown ends "status" after it has printed that no daemon runs.
var errDown = errors.New("no daemon is running (see above)")

// tagWords are what the tags of flags write as ${name}.
func tagWords() kong.Vars { return kong.Vars{"scopes": scopeList()} }

func run(ctx context.Context, args []string, e *env) int {
	e.screen, e.answer = e.out, &output{to: e.out}
	e.out = e.answer
	var c cli
	parser, err := kong.New(&c,
		kong.Name("dragoman"),
		kong.Description("One assistant, many chats: Telegram, WhatsApp, IRC, a web page, a terminal. Every message is saved to disk before its network is told that it arrived."),
		kong.Writers(e.out, e.err),
		tagWords(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
	if err != nil {
		panic(err) // our own bug: the struct's tags
	}
	e.ctx, e.parser = ctx, parser
	e.program = cmp.Or(e.program, "dragoman")
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if slices.Contains([]string{"--version", "-v", "-V"}, args[0]) { // people try these first
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

// typed returns the command that args begin with, a space before each word. The
// hint after a mistyped line names the help of that command.
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
	if _, ok := errors.AsType[*api.EndedError](err); ok {
		text = e.ownCommands(text)
	}
	_, _ = fmt.Fprintf(e.err, "dragoman: %s\n", text)
	return exitFailed
}

// plainly is the text of err for a person; "" for nil.
func plainly(err error) string {
	if err == nil {
		return ""
	}
	return sessions.Printable(plain.Text(err))
}

// plainError is an error whose text is printed unchanged. [plain.Text] would
// take a file name at its beginning for the name of a package and cut it off.
type plainError struct {
	text  string
	cause error
}

func (e *plainError) Error() string { return e.text }

// Plain is for [plain.Text].
func (e *plainError) Plain() string { return e.text }

// Unwrap returns the cause, or nil.
func (e *plainError) Unwrap() error { return e.cause }

// plainErrorf makes an error for people. The text of cause, if there is one,
// follows a colon.
func plainErrorf(cause error, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if cause != nil {
		text += ": " + plainly(cause)
	}
	return &plainError{text, cause}
}

func (e *env) say(format string, args ...any) {
	_, _ = fmt.Fprintf(e.out, format+"\n", args...)
}

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

// daemon has the functions of other packages that the tests of commands replace.
type daemon struct {
	load        func(config.Options) (*config.Config, config.Source, error)
	serve       func(context.Context, *config.Config, app.Options) error
	chat        func(ctx context.Context, cfg *config.Config, o app.Options, in io.Reader, out io.Writer, room string, c app.ChatOptions) error
	migrate     func(ctx context.Context, cfg *config.Config, from, to storage.Location, who storage.Caller, tell func(exchange.Progress)) (storage.Migrated, error)
	lookAtModel func(ctx context.Context, cfg *config.Config, getenv func(string) string, list bool) (llm.Report, error)
	askTelegram func(ctx context.Context, token, server string) (bot string, err error)
	admin       func(context.Context, *config.Config, storage.Caller) (c *api.Client, release func(), err error)
}

var realDaemon = daemon{app.LoadConfig, app.Serve, app.Chat, storage.Migrate, llm.Look, app.BotName, app.Admin}

// caller names this program to others that want to use the state directory, and
// prints what it waits for.
func (e *env) caller() storage.Caller {
	return storage.Caller{Version: programVersion(), Verb: e.verb, Tell: func(sentence string) {
		_, _ = fmt.Fprintf(e.err, "dragoman: %s\n", sessions.Printable(sentence))
	}}
}

func (e *env) load(path string) (*config.Config, error) {
	cfg, _, err := e.daemon.load(config.Options{Path: path})
	return cfg, err
}

// loadWithoutSecrets is load for commands that log in nowhere. Missing secrets
// are empty instead of an error.
func (e *env) loadWithoutSecrets(path string) (*config.Config, error) {
	cfg, _, err := e.daemon.load(config.Options{Path: path, NoSecrets: true})
	return cfg, err
}
