package app_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/agenttest"
	"dragoman/internal/api"
	"dragoman/internal/testkit/pgtest"
)

// What turns use is counted with them: by day, model, person and chat, over restarts, in
// each store. The sums of a chat are erased with it, and those of the model stay.
func TestUsageIsCounted(t *testing.T) {
	t.Parallel()
	for store, settings := range map[string]func(t *testing.T) string{
		"sqlite": func(*testing.T) string { return "store: {type: sqlite}" },
		"file":   func(*testing.T) string { return "store: {type: file}" },
		"postgres": func(t *testing.T) string {
			return "store: {type: postgres, url: \"" + pgtest.New(t, pgtest.Options{}).URL("postgres") + "\"}"
		},
	} {
		t.Run(store, func(t *testing.T) {
			p := newPlace(t, settings(t))
			r := p.run()
			r.ask(r.page("hall"), "hello")
			r.ask(r.page("hall"), "hello again")
			r.ask(r.page("other"), "hello")
			r.stop()
			r = p.run()
			turns := func(by string) map[string]int {
				t.Helper()
				got, err := api.ReadUsage.Call(t.Context(), r.admin, api.UsageBy{By: by})
				if err != nil {
					t.Fatal(err)
				}
				list := map[string]int{}
				for _, row := range got.Rows {
					list[row.Name] = row.Turns
					if row.Input == 0 || row.Output == 0 {
						t.Errorf("%s used no tokens", row.Name)
					}
				}
				return list
			}
			for by, want := range map[string]int{"day": 3, "model": 3, "person": 3} {
				got := turns(by)
				if len(got) != 1 {
					t.Errorf("by %s: %v, want one row of %d turns", by, got, want)
				}
				for _, n := range got {
					if n != want {
						t.Errorf("by %s: %v, want %d turns", by, got, want)
					}
				}
			}
			if got := turns("person"); got["operator"] != 3 {
				t.Errorf("by person: %v, want the operator", got)
			}
			if got := turns("chat"); got["web:hall"] != 2 || got["web:other"] != 1 {
				t.Errorf("by chat: %v", got)
			}
			plan, err := api.PlanErase.Call(t.Context(), r.admin, api.Target{Name: "web:hall", OnlyConversation: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := api.Erase.Call(t.Context(), r.admin, plan.Erasure); err != nil {
				t.Fatal(err)
			}
			if got := turns("chat"); len(got) != 1 || got["web:other"] != 1 {
				t.Errorf("after an erasure, by chat: %v", got)
			}
			if got := turns("model"); got["demo"] != 3 {
				t.Errorf("after an erasure, by model: %v", got)
			}
		})
	}
}

// A request of OpenAI's API is counted for its person, its model and its day, and for its
// conversation if it has one. A repeat is not, nor are the messages that the client gives.
func TestUsageOfGivenMessages(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}, Reply: func(q *agenttest.Request) agenttest.Reply {
		if q.LastUser() == "two steps" && q.Messages[len(q.Messages)-1].Role != "tool" {
			return agenttest.ToolReply(agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_0", Name: "time", Arguments: "{}"})
		}
		return nil
	}})
	p := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, retries: 0, prices: {input: 2, output: 8}}`)
	r := p.run()
	mine := speaker{r, r.token("program", "", "chat")}
	ann := speaker{r, r.token("ann", "telegram:42", "chat")}
	mine.expect(200, "echo: three", messages("one", "an answer of the client's", "three"))
	mine.expect(200, "chat.completion", messages("two steps"), "Idempotency-Key", "k")
	mine.expect(200, "chat.completion", messages("two steps"), "Idempotency-Key", "k")
	mine.expect(400, "messages", `{"model":"dragoman","messages":[]}`)
	ann.expect(200, "echo: hers", messages("hers"))
	for range 2 {
		mine.expect(200, "echo: hello", messages("hello"), "X-Session-Key", "web:talk", "Idempotency-Key", "t")
	}
	r.stop()
	r = p.run()
	for by, want := range map[string]map[string]int{
		"person": {"operator": 3, "telegram:42": 1}, "model": {"main": 4}, "day": {time.Now().In(time.Local).Format(time.DateOnly): 4}, "chat": {"web:talk": 1},
	} {
		report, err := api.ReadUsage.Call(t.Context(), r.admin, api.UsageBy{By: by})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		calls := 0
		for _, row := range report.Rows {
			got[row.Name] = row.Turns
			calls += row.ToolCalls
			if row.Input == 0 || row.Output == 0 || row.Cost == 0 {
				t.Errorf("by %s, %s used %+v, want tokens and a cost", by, row.Name, row.Used)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || by != "chat" && calls != 1 {
			t.Errorf("by %s, %d calls of tools (-want +got):\n%s", by, calls, diff)
		}
	}
}
