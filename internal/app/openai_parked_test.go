package app_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/internal/api"
)

// A request whose turn waits for a yes ends with the question, streamed or not, also after a
// restart, and so does one that has to wait behind it. When the yes is there, the answer comes
// to the conversation, and the same request gets it.
func TestOpenAIWaitsForNobody(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}, Reply: func(q *agenttest.Request) agenttest.Reply {
		last := q.Messages[len(q.Messages)-1]
		if last.Role == "tool" || !strings.Contains(q.LastUser(), "write") {
			return nil
		}
		return func(x *agenttest.Exchange) {
			x.Text("I will ", "write it.")
			x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "c1", Name: "write_file", Arguments: `{"path":"a.txt","content":"a"}`})
			x.End("tool_calls")
		}
	}})
	p := newPlace(t, fmt.Sprintf("model: {type: openai, base_url: '%s', name: main, context_window: 100000}\nagent: {tools: {write_file: ask}}", server.URL()))
	r := p.run()
	s := speaker{r, r.token("program", "", "chat")}
	in := []string{"X-Session-Key", "web:books", "Idempotency-Key", "k1"}
	const streamed = `{"model":"dragoman","stream":true,"messages":[{"role":"user","content":"write it"}]}`
	parked := ""
	for range 2 {
		_, _, got, err := s.say(t.Context(), streamed, in...)
		for _, want := range []string{"May I run **write_file**?", "/allow ", "POST /api/v1/approvals", `"finish_reason":"stop"`, "data: [DONE]"} {
			if err != nil || !strings.Contains(got, want) || strings.Contains(got, "broke off") {
				t.Errorf("a stream whose turn waits for a yes lacks %q: %v %s", want, err, got)
			}
		}
		parked = regexp.MustCompile(`\(The request ends here[^)]*\)`).FindString(got)
		r.stop()
		r = p.run()
		s.r = r
	}
	s.expect(200, "it waits for a yes: ", messages("write it", parked, "and this?"), "X-Session-Key", "web:books", "Idempotency-Key", "k2")
	list, err := api.ListApprovals.Call(t.Context(), r.admin, api.ApprovalQuery{Pending: true})
	if err != nil || len(list.Data) != 1 {
		t.Fatalf("%d questions wait, %v", len(list.Data), err)
	}
	if _, err := api.AnswerApproval.Call(t.Context(), r.admin, api.Answer{ID: list.Data[0].ID, Answer: "allow"}); err != nil {
		t.Fatal(err)
	}
	s.expect(200, "echo: write it", streamed, in...)
	s.expect(200, "echo: and this?", messages("write it", parked, "and this?"), "X-Session-Key", "web:books", "Idempotency-Key", "k2")
	s.expect(200, "echo: later", messages("write it", parked, "and this?", parked, "later"), "X-Session-Key", "web:books")
	s.expect(422, "history_differs", messages("write that", parked, "and this?", parked, "later"), "X-Session-Key", "web:books")
	n := 0
	for _, q := range server.Requests() {
		if q.Messages[len(q.Messages)-1].Role == "tool" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the call ran %d times, want once", n)
	}
}
