package tools

import (
	"context"
	"errors"

	"dragoman/agent"
	"dragoman/sessions"
)

// Messages sends words to other chats, and knows which ones a chat may send to. The texts and
// errors of its methods are for the model and for people.
type Messages interface {
	// SendMessage sends text once for each call, however often it is called.
	SendMessage(ctx context.Context, c agent.Call, to, text string) (said string, err error)
	// AskToSend is the question whether to do that.
	AskToSend(ctx context.Context, c agent.Call, to, text string) (string, error)
}

// messageArgs are the arguments of send_message.
type messageArgs struct {
	To   string `json:"to" jsonschema:"A network, for the person's own chat there, or a name or chat that is allowed"`
	Text string `json:"text" jsonschema:"The whole message"`
}

var _ = builtin(func(n Needs) agent.Tool { return SendMessage(n.Messages) })

// SendMessage is the tool send_message: it writes to another chat. m is nil where there is
// none that it could reach; then the tool is off.
func SendMessage(m Messages) agent.Tool {
	spec := agent.Spec{
		Name:        "send_message",
		Description: "Send a message to another chat, only when the person asked for it. Who reads it is told who asked. A wrong target lists the possible ones.",
		Repeatable:  true, // a call is sent once
		Effect:      agent.EffectOut,
		Unattended:  true, // where a job sends a message, a route allows it
		Origin:      sessions.OriginModel,
		Keep:        20,
		Chat:        true,
	}
	if m == nil {
		spec.Off = "there is no other chat to write to: set routes, or connect a second network"
		return newTool(spec, func(context.Context, agent.Call, messageArgs) (string, error) { return "", errors.New(spec.Off) })
	}
	t := newTool(spec, func(ctx context.Context, c agent.Call, args messageArgs) (string, error) {
		return m.SendMessage(ctx, c, args.To, args.Text)
	})
	t.ask = func(ctx context.Context, c agent.Call, args messageArgs) (string, error) {
		return m.AskToSend(ctx, c, args.To, args.Text)
	}
	return t
}
