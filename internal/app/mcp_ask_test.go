package app_test

import (
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/api"
)

// A server asks the person in the middle of a call: their next words are the answer, a value that
// does not fit is asked for again, and the model reads what the server makes of it.
func TestAServerThatAsks(t *testing.T) {
	t.Parallel()
	r, model := withServers(t, "", good(t, "good", ", tools: {ask: allow}"))
	r.until("the server to be known", func() bool {
		report, err := api.TestToolServer.Call(t.Context(), r.admin, api.ToolServerName{Name: "good"})
		if err != nil || report.Why != "" {
			return false
		}
		return api.AcceptTools.Call(t.Context(), r.admin, api.AcceptedTools{Name: "good", Digest: report.Digest}) == nil
	})
	model.Next(agenttest.ToolReply(agenttest.ToolDelta{ID: "c1", Name: "good__ask", Arguments: "{}"}))
	p := r.page("asked")
	if got := r.ask(p, "book it"); !strings.Contains(got, "The server **good** asks you something") || !strings.Contains(got, "What is your name?") {
		t.Fatalf("the person reads %q", got)
	}
	model.Next(agenttest.TextReply("Booked."))
	if got := r.ask(p, "Ann"); !strings.Contains(got, "I pass that on to good") {
		t.Errorf("the answer is answered with %q", got)
	}
	r.until("the turn to go on", func() bool { return strings.Contains(lastOf(model), "answer: accept Ann, state: asked") })
	model.Next(agenttest.ToolReply(agenttest.ToolDelta{ID: "c2", Name: "good__ask", Arguments: "{}"}))
	p = r.page("declined")
	r.ask(p, "book it again")
	model.Next(agenttest.TextReply("Fine."))
	if got := r.ask(p, "/deny"); !strings.Contains(got, "good gets no answer") {
		t.Errorf("a refusal is answered with %q", got)
	}
	r.until("the turn to go on", func() bool { return strings.Contains(lastOf(model), "answer: decline") })

	// What the page says by the API is an answer, too.
	model.Next(agenttest.ToolReply(agenttest.ToolDelta{ID: "c3", Name: "good__ask", Arguments: "{}"}))
	key := channels.MustKey("web:said")
	say := func(id, text string) {
		if _, err := api.PutPrompt.Call(t.Context(), r.admin, api.Prompt{Key: key, ID: id, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	say("book", "book it")
	r.until("the question", func() bool {
		page, err := api.ListQueue.Call(t.Context(), r.admin, api.QueueQuery{State: "parked"})
		return err == nil && len(page.Data) == 1
	})
	model.Next(agenttest.TextReply("Booked again."))
	say("answer", "Zoe")
	r.until("the turn to go on", func() bool { return strings.Contains(lastOf(model), "answer: accept Zoe, state: asked") })
}
