package agent_test

import (
	"context"
	"slices"
	"testing"

	"dragoman/agent"
)

// A tool shows how far its call is, and after its end nothing more.
func TestProgressOfACall(t *testing.T) {
	var late func(string)
	slow := tool{spec: agent.Spec{Name: "slow"}, run: func(_ context.Context, c agent.Call) (string, error) {
		c.Progress("30 %")
		late = c.Progress
		return "done", nil
	}}
	m := newScript(t, call("c1 slow {}"), say("It is done."))
	var notes []string
	turn := turnOf("go")
	turn.Progress = func(p agent.Progress) { notes = append(notes, p.Note) }
	run(t, newAgent(t, m, agent.Options{}, slow), turn)
	late("99 %")
	at := slices.Index(notes, "slow: 30 % …")
	if at < 1 || notes[at-1] != "slow …" || slices.Contains(notes, "slow: 99 % …") {
		t.Errorf("shown is %q", notes)
	}
}
