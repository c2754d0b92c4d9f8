package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// Each message that a person wrote begins with its time in the operator's zone, with
// daylight saving. The stored message does not.
func TestUserMessagesAreStamped(t *testing.T) {
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	m := newScript(t, say("ok"))
	a := newAgent(t, m, agent.Options{System: "Be kind.", Zone: rome})
	turn := turnOf("now")
	turn.Input[0].At = time.Date(2026, 7, 1, 22, 30, 59, 0, time.UTC)
	turn.History.Messages = []sessions.Message{
		{Seq: 1, Role: sessions.RoleUser, Content: "> Bob: hi\n\nyes", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
		{Seq: 2, Role: sessions.RoleAssistant, Content: "fine", At: t0},
		{Seq: 3, Role: sessions.RoleUser, Content: "of an import"},
	}
	res := run(t, a, turn)
	req := m.requests()[0]
	for i, want := range []string{
		"[Sun 2026-03-01 13:00 +01:00]\n> Bob: hi\n\nyes", "fine", "of an import\n\n[Thu 2026-07-02 00:30 +02:00]\nnow",
	} {
		if got := req.Messages[i].Content; got != want {
			t.Errorf("message %d is %q, want %q", i, got, want)
		}
	}
	if res.Messages[0].Content != "now" || turn.History.Messages[0].Content != "> Bob: hi\n\nyes" {
		t.Errorf("a stamp is stored: %s", show(res.Messages))
	}
	if !strings.HasPrefix(req.System, "Be kind.\n\n") || !strings.Contains(req.System, "(time zone Europe/Rome)") {
		t.Errorf("the system prompt is %q", req.System)
	}
}

// If a model copies the time stamp into its answer, people do not see it.
func TestCopiedStampIsRemoved(t *testing.T) {
	for _, text := range []string{"[Sun 2026-03-01 13:00 +01:00]\nIt is noon.", "<think>hm</think>\n[Sun 2026-03-01 13:00 +01:00] It is noon."} {
		var seen []string
		turn := turnOf("what time is it?")
		turn.Progress = func(p agent.Progress) { seen = append(seen, p.Text) }
		res := run(t, newAgent(t, newScript(t, say(text)), agent.Options{Zone: time.UTC}), turn)
		if last := res.Messages[len(res.Messages)-1].Content; res.Text != "It is noon." || last != res.Text {
			t.Errorf("the answer %q is given as %q and stored as %q", text, res.Text, last)
		}
		if s := strings.Join(seen, "|"); strings.Contains(s, "[") {
			t.Errorf("people are shown %q", s)
		}
	}
	const text = "[Sunday] is a day, and [Sun 2026-03-01 13:00] no stamp."
	if res := run(t, newAgent(t, newScript(t, say(text)), agent.Options{Zone: time.UTC}), turnOf("?")); res.Text != text {
		t.Errorf("the answer %q is given as %q", text, res.Text)
	}
}

// Stamps are counted wherever messages are.
func TestStampsAreCounted(t *testing.T) {
	h := sessions.History{}
	for i := range 40 {
		h.Messages = append(h.Messages, sessions.Message{Seq: int64(i + 1), Role: sessions.RoleUser, Content: "x", At: t0})
	}
	m := newScript(t, say("ok"))
	fill := func(zone *time.Location) int {
		n, _ := newAgent(t, m, agent.Options{Zone: zone}).Fill(h)
		empty, _ := newAgent(t, m, agent.Options{Zone: zone}).Fill(sessions.History{})
		return n - empty
	}
	want := window.Count(window.Stamped(h.Messages, time.UTC, nil), nil)
	if got := fill(time.UTC); got != want || got <= fill(nil) {
		t.Errorf("40 stamped messages count %d, want %d; without stamps %d", got, want, fill(nil))
	}
}

// Data that another model's provider attached is not sent and not counted, so a
// change of the model makes room for messages.
func TestAttachedOfAnotherModelTakesNoRoom(t *testing.T) {
	data, err := json.Marshal(strings.Repeat("A", 40_000))
	if err != nil {
		t.Fatal(err)
	}
	history := func(model string) (h sessions.History) {
		for i := range 4 {
			h.Messages = append(h.Messages,
				sessions.Message{Seq: int64(2*i + 1), Role: sessions.RoleUser, Content: fmt.Sprint("question ", i), Turn: fmt.Sprint(i)},
				sessions.Message{
					Seq: int64(2*i + 2), Role: sessions.RoleAssistant, Content: "yes", Turn: fmt.Sprint(i),
					Attached: &sessions.Attached{By: sessions.Provenance{Model: model}, Data: data},
				})
		}
		return h
	}
	m := newScript(t, say("ok"))
	a := newAgent(t, m, agent.Options{ContextWindow: 16_000})
	if own, _ := a.Fill(history("scripted")); own < 40_000 {
		t.Errorf("what its own provider attached counts %d tokens, want 40,000", own)
	}
	if other, _ := a.Fill(history("another")); other > 1000 {
		t.Errorf("what another provider attached counts %d tokens", other)
	}
	turn := turnOf("go on")
	turn.History = history("another")
	run(t, a, turn)
	if n := len(m.requests()[0].Messages); n != 9 {
		t.Errorf("the request has %d messages, want all 9:\n%s", n, show(m.requests()[0].Messages))
	}
}
