package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/agent"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// narrow is a model whose server accepts that many characters, including the
// prompt.
type narrow struct{ takes int }

func (narrow) Name() string { return "narrow" }

func (n narrow) Complete(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
	size := len(r.System)
	for _, m := range r.Messages {
		size += len(m.Content)
	}
	if size > n.takes {
		return agent.Response{}, &agent.ModelError{Kind: agent.ErrorContext, Err: errors.New("too long")}
	}
	return agent.Response{Message: sessions.Message{Role: sessions.RoleAssistant, Content: "noted"}, Finish: "stop"}, nil
}

// TestWhatIsTooLong: the person reads what is too long, and /new is only
// offered where it helps.
func TestWhatIsTooLong(t *testing.T) {
	long := strings.Repeat("many words ", 2000)
	for name, test := range map[string]struct {
		system string
		window int
		say    []string
		want   string
	}{
		"the prompt":                 {long, 32768, []string{"hello"}, "my instructions and tools alone"},
		"the prompt, as configured":  {long, 2048, []string{"hello", "again"}, "my instructions and tools alone"},
		"a first message":            {"Be kind.", 32768, []string{long}, "this message is too long"},
		"a later message":            {"Be kind.", 32768, []string{"hello", long}, "/new starts a new conversation"},
		"nothing":                    {"Be kind.", 32768, []string{"hello"}, "noted"},
		"nothing, after a /new":      {"Be kind.", 32768, []string{"hello", long, "/new", "hello"}, "noted"},
		"the first one after a /new": {"Be kind.", 32768, []string{"hello", "/new", long}, "this message is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ag, err := agent.New(narrow{4000}, nil, agent.Options{ContextWindow: test.window, System: test.system})
				if err != nil {
					t.Fatal(err)
				}
				w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
					// Where there is no room, requests leave messages out and say so.
					w.real, o.Observer = ag, &counter{}
				})
				for _, text := range test.say {
					w.say("1", text)
					synctest.Wait()
				}
				if got := w.lastText("1"); !strings.Contains(got, test.want) || test.want[0] != '/' && strings.Contains(got, "/new") {
					t.Errorf("it is answered %q, want %q", got, test.want)
				}
			})
		})
	}
}
