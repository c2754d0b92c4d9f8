package agent_test

import (
	"testing"

	"dragoman/agent"
	"dragoman/sessions"
)

// A conversation's own level of reasoning wins; "auto" leaves it to the server.
func TestEffort(t *testing.T) {
	for name, test := range map[string]struct{ configured, own, want string }{
		"nothing":        {"", "", ""},
		"configured":     {"high", "", "high"},
		"its own":        {"high", "none", "none"},
		"auto":           {"auto", "", ""},
		"its own auto":   {"high", "auto", ""},
		"its own, alone": {"auto", "low", "low"},
	} {
		m := newScript(t, say("Hello."))
		a := newAgent(t, m, agent.Options{Effort: test.configured})
		turn := turnOf("hello")
		turn.History.Settings = sessions.Settings{Reasoning: test.own}
		run(t, a, turn)
		if got := m.requests()[0].Effort; got != test.want {
			t.Errorf("%s: the request's effort is %q, want %q", name, got, test.want)
		}
	}
}
