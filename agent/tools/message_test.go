package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/tools"
)

// post sends to Bob alone.
type post struct{ sent []string }

func (p *post) SendMessage(_ context.Context, c agent.Call, to, text string) (string, error) {
	if to != "Bob" {
		return "", errors.New("no possible target. Possible: Bob")
	}
	p.sent = append(p.sent, c.ID+" "+to+": "+text)
	return "It is on its way to Bob.", nil
}

func (p *post) AskToSend(_ context.Context, _ agent.Call, to, text string) (string, error) {
	if to != "Bob" {
		return "", errors.New("no possible target. Possible: Bob")
	}
	return "To Bob:\n" + text, nil
}

func TestSendMessage(t *testing.T) {
	if off := tools.SendMessage(nil).Spec().Off; !strings.Contains(off, "set routes") {
		t.Errorf("where there is no other chat it is off because %q", off)
	}
	p := &post{}
	tool := tools.SendMessage(p)
	if spec := tool.Spec(); spec.Off != "" || spec.Effect != agent.EffectOut || !spec.Repeatable {
		t.Errorf("the tool is %+v", spec)
	}
	for _, test := range []struct{ args, said, asked string }{
		{`{"to":"Bob","text":"hi","reason":"they asked"}`, "It is on its way to Bob.", "To Bob:\nhi"},
		{`{"to":"Eve","text":"hi"}`, "send_message: no possible target. Possible: Bob", "send_message: no possible target. Possible: Bob"},
		{`{"to":"Bob","text":"hi","cc":"Eve"}`, `send_message: arguments: unknown field "cc"`, `send_message: arguments: unknown field "cc"`},
	} {
		c := agent.Call{ID: "c1", Args: []byte(test.args)}
		asked, err := tool.(agent.AskTool).Ask(t.Context(), c)
		if got := textOr(asked, err); !strings.HasPrefix(got, test.asked) {
			t.Errorf("for %s people read %q, want %q", test.args, got, test.asked)
		}
		said, err := tool.Run(t.Context(), c)
		if got := textOr(said, err); !strings.HasPrefix(got, test.said) {
			t.Errorf("for %s the model reads %q, want %q", test.args, got, test.said)
		}
	}
	if len(p.sent) != 1 || p.sent[0] != "c1 Bob: hi" {
		t.Errorf("sent: %q", p.sent)
	}
}

// textOr is text, or what err says.
func textOr(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}
