package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/sessions"
)

// Running runs commands, locked in.
type Running interface {
	// Off says why no command can run here and what the operator would do about it; "" if
	// they can.
	Off() string
	// Run runs a line of a shell that sees dir as its own and may change nothing else. An
	// error means that nothing ran, or that the caller stopped it.
	Run(ctx context.Context, dir, line string, timeout time.Duration) (Ran, error)
}

// Ran is what a command left.
type Ran struct {
	// Output is what it printed, with a line where some was left out.
	Output string
	// Code is its exit code.
	Code int
	// Ended says in words which limit ended it; "" if it ended by itself.
	Ended string
}

// Limits of exec's arguments.
const (
	maxCommand = 8 << 10 // bytes
	maxSeconds = 60
)

// execArgs are the arguments of exec.
type execArgs struct {
	Command string `json:"command" jsonschema:"For sh"`
	Timeout number `json:"timeout,omitempty" jsonschema:"Seconds, at most 60"`
}

var _ = builtin(func(n Needs) agent.Tool { return Exec(n.Workspace, n.Exec) })

// Exec is the tool exec: a command in the conversation's folder of w. Without a runner, or
// with one that is off, the tool is off.
func Exec(w *Workspace, runner Running) agent.Tool {
	spec := agent.Spec{
		Name:        "exec",
		Description: "Run a shell command in this chat's folder of the workspace. No network. Only files there are kept.",
		Effect:      agent.EffectRun,
		Origin:      sessions.OriginFile,
		Keep:        -50,
		Chat:        true,
	}
	if runner == nil {
		spec.Off = "it runs programs: set exec.enabled"
	} else {
		spec.Off = runner.Off()
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
	case args.Timeout < 0 || args.Timeout > maxSeconds:
		return "", fmt.Errorf("the timeout is from 1 to %d seconds", maxSeconds)
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
	ran, err := runner.Run(ctx, filepath.Join(w.root.Name(), folder), args.Command, time.Duration(args.Timeout)*time.Second)
	if err != nil {
		return "", err
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
