package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// Running runs commands, locked in.
type Running interface {
	// Off says why no command can run here and what the operator would do about it; "" if
	// they can.
	Off() string
	// Run runs a line of a shell that sees a folder as its own and may change nothing else. An
	// error means that nothing ran, or that the caller stopped it.
	Run(ctx context.Context, j Job) (Ran, error)
	// List lists what runs in the background of k, a line each, and Stop ends one of it, or
	// all if name is "". It returns the names of what it ended.
	List(ctx context.Context, k channels.Key) ([]string, error)
	Stop(ctx context.Context, k channels.Key, name string) (names []string, err error)
}

// Job is a command that the model may run.
type Job struct {
	Call agent.Call // who asked for it, and where
	Dir  string
	Line string
	// Most is how long it may take, and Wait how long the caller waits: after that it goes on
	// in the background. 0: it begins there.
	Most, Wait time.Duration
}

// Ran is what a command left.
type Ran struct {
	// Output is what it printed, with a line where some was left out.
	Output string
	// Code is its exit code.
	Code int
	// Ended says in words which limit ended it; "" if it ended by itself.
	Ended string
	// Background is what it is called if it goes on in the background; else "".
	Background string
}

// Limits of exec's arguments.
const (
	maxCommand     = 8 << 10 // bytes
	maxSeconds     = 60
	maxLongSeconds = 30 * 60
	// beforeTimeout is how long before the end of the loop's patience a command is left to
	// run in the background, or ended.
	beforeTimeout = 3 * time.Second
)

// execArgs are the arguments of exec.
type execArgs struct {
	Command string `json:"command" jsonschema:"For sh"`
	Timeout number `json:"timeout,omitempty" jsonschema:"Seconds; ends it then. At most 60, or 1800 in the background"`
	// Background: the model need not wait for it.
	Background bool `json:"background,omitempty" jsonschema:"Do not wait: a message brings the result"`
}

var _ = builtin(func(n Needs) agent.Tool { return Exec(n.Workspace, n.Exec) })

// Exec is the tool exec: a command in the conversation's folder of w. Without a runner, or
// with one that is off, the tool is off.
func Exec(w *Workspace, runner Running) agent.Tool {
	spec := agent.Spec{
		Name:        "exec",
		Description: "Run a shell command in this chat's folder of the workspace. No network. Only files there are kept. What takes over a minute goes on in the background.",
		Effect:      agent.EffectRun,
		Origin:      sessions.OriginFile,
		Keep:        -50,
		Chat:        true,
		Patience:    maxSeconds*time.Second + beforeTimeout,
		Off:         offOf(runner),
	}
	t := newTool(spec, func(ctx context.Context, c agent.Call, args execArgs) (string, error) {
		if spec.Off != "" { // nobody is offered it
			return "", errors.New(spec.Off)
		}
		return w.execute(ctx, c, args, runner)
	})
	t.files = w.named
	return t
}

// execute runs a command in the folder of c's conversation, also where the file tools see
// more than that: a command minds no file that only operators may write.
func (w *Workspace) execute(ctx context.Context, c agent.Call, args execArgs, runner Running) (string, error) {
	switch {
	case strings.TrimSpace(args.Command) == "":
		return "", errors.New("the command is empty")
	case len(args.Command) > maxCommand:
		return "", fmt.Errorf("the command has %d bytes, at most %d are possible: write a file and run that", len(args.Command), maxCommand)
	case strings.ContainsRune(args.Command, 0):
		return "", errors.New("the command has a NUL byte in it")
	}
	most, wait, err := args.limits(ctx)
	if err != nil {
		return "", err
	}
	chat, err := w.ofChat(c)
	if err != nil {
		return "", err
	}
	defer chat.root.Close() // nothing was written through it
	if err := chat.checkRoom(ctx, blockSize); err != nil {
		return "", err
	}
	folder := chatFolder(c)
	ran, err := runner.Run(ctx, Job{Call: c, Dir: filepath.Join(w.root.Name(), folder), Line: args.Command, Most: most, Wait: wait})
	if err != nil {
		return "", err
	}
	if ran.Background != "" {
		return fmt.Sprintf("[it runs in the background as %s, for %d minutes at most. A message will bring what it left: say so, and end your turn. list_commands and stop_command are about it]",
			ran.Background, int(most.Minutes())), nil
	}
	how := fmt.Sprintf("exit code %d", ran.Code)
	if ran.Ended != "" {
		how = "ended before its time: " + ran.Ended
	}
	if !w.o.PerChat || c.Operator {
		how += fmt.Sprintf("; its folder is %s", folder)
	}
	if ran.Output == "" {
		how += "; it printed nothing"
	}
	return strings.TrimSuffix("["+how+"]\n"+strings.ToValidUTF8(ran.Output, "�"), "\n"), nil
}

// limits are how long a command may take, and how long the caller waits for it. One for which
// no time was said may take long: whoever allowed it wants it done, and not ended halfway.
func (a execArgs) limits(ctx context.Context) (most, wait time.Duration, err error) {
	largest := number(maxSeconds)
	if a.Background {
		largest = maxLongSeconds
	}
	if a.Timeout < 0 || a.Timeout > largest {
		return 0, 0, fmt.Errorf("the timeout is from 1 to %d seconds, or to %d with background", maxSeconds, maxLongSeconds)
	}
	most = time.Duration(a.Timeout) * time.Second
	if most == 0 {
		most = maxLongSeconds * time.Second
	}
	if a.Background {
		return most, 0, nil
	}
	wait = maxSeconds * time.Second
	if deadline, has := ctx.Deadline(); has {
		wait = max(time.Second, min(wait, time.Until(deadline)-beforeTimeout))
	}
	if a.Timeout > 0 {
		most = min(most, wait)
		wait = 2 * wait // it ends before
	}
	return most, wait, nil
}
