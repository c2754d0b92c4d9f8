package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/agent"
	"dragoman/sessions"
)

var (
	_ = builtin(func(n Needs) agent.Tool { return ListCommands(n.Exec) })
	_ = builtin(func(n Needs) agent.Tool { return StopCommand(n.Exec) })
)

// offWithout is why a tool about commands is off without a runner.
const offWithout = "it runs programs: set exec.enabled"

// offOf is why the tools about commands are off; "" if they are not.
func offOf(runner Running) string {
	if runner == nil {
		return offWithout
	}
	return runner.Off()
}

// ListCommands is the tool list_commands: what runs in the background of the chat.
func ListCommands(runner Running) agent.Tool {
	spec := agent.Spec{
		Name: "list_commands", Description: "List the commands of exec that run in the background here.",
		Origin: sessions.OriginFile, Keep: -60, Chat: true, Off: offOf(runner),
	}
	return newReader(spec, func(ctx context.Context, c agent.Call, _ struct{}) (string, error) {
		if spec.Off != "" { // nobody is offered it
			return "", errors.New(spec.Off)
		}
		lines, err := runner.List(ctx, c.Key)
		if err != nil {
			return "", errors.New("what runs here could not be read")
		}
		if len(lines) == 0 {
			return "Nothing runs in the background here.", nil
		}
		return strings.Join(lines, "\n"), nil
	})
}

// stopArgs are the arguments of stop_command.
type stopArgs struct {
	Command string `json:"command" jsonschema:"Like c1"`
}

// StopCommand is the tool stop_command: it ends a command in the background of the chat.
func StopCommand(runner Running) agent.Tool {
	spec := agent.Spec{
		Name: "stop_command", Description: "End a command that runs in the background.",
		Effect: agent.EffectOwn, Origin: sessions.OriginModel, Keep: -60, Chat: true, Repeatable: true, Off: offOf(runner),
	}
	return newTool(spec, func(ctx context.Context, c agent.Call, args stopArgs) (string, error) {
		if spec.Off != "" { // nobody is offered it
			return "", errors.New(spec.Off)
		}
		name := strings.ToLower(strings.TrimSpace(args.Command))
		if name == "" { // that would be all of them
			return "", errors.New("name the command, like c1")
		}
		names, err := runner.Stop(ctx, c.Key, name)
		switch {
		case err != nil:
			return "", errors.New("it could not be stopped")
		case len(names) == 0:
			return "", fmt.Errorf("no command called %.20q runs here; list_commands knows what does", name)
		}
		return names[0] + " no longer runs. No message about it will come.", nil
	})
}
