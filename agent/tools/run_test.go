package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// curious is a model that tries to remember, recall and search before it answers.
type curious struct{ results []string }

func (*curious) Name() string { return "curious" }

func (m *curious) Complete(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	if last.Role != sessions.RoleTool {
		return agent.Response{Finish: "tool_calls", Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{
			{ID: "a", Name: "remember", Arguments: `{"text":"a secret"}`},
			{ID: "b", Name: "recall", Arguments: `{"query":"bicycle"}`},
			{ID: "c", Name: "search_history", Arguments: `{"query":"bicycle"}`},
		}}}, nil
	}
	for _, msg := range r.Messages {
		if msg.Role == sessions.RoleTool {
			m.results = append(m.results, msg.Content)
		}
	}
	return agent.Response{Finish: "stop", Message: sessions.Message{Role: sessions.RoleAssistant, Content: "done"}}, nil
}

// A run without a key is answered, and stores and reads nothing, even through its
// tools.
func TestCase55RunWithoutAKey(t *testing.T) {
	store := sqlitetest.Open(t, nil)
	defer store.Close()
	k := channels.MustKey("telegram:7")
	ok(t, second(store.Accept(t.Context(), sessions.Entry{
		Inbound: channels.Inbound{Key: k, ID: "1", Text: "my bicycle is green"}, Answered: true,
		Append: []sessions.Message{{Role: sessions.RoleUser, Content: "my bicycle is green", Sender: "7"}},
	})))
	ok(t, second(store.Remember(t.Context(), "person:telegram:7", sessions.NewFact{Text: "the bicycle is green"})))
	before := dumped(t, store)

	model := &curious{}
	ag, err := agent.New(model, []agent.Tool{tools.Remember(people.Memory{Facts: store}), tools.Recall(people.Memory{Facts: store}), tools.SearchHistory(store)}, agent.Options{})
	ok(t, err)
	res, err := ag.Run(t.Context(), agent.Turn{
		ID: "t1", Person: channels.Person{IDs: []string{"7"}}, Private: true,
		Input: []sessions.Message{{Role: sessions.RoleUser, Content: "what do you know?"}},
	})
	ok(t, err)
	if res.Text != "done" || len(model.results) != 3 {
		t.Errorf("Run answers %q after %d results, want done after 3", res.Text, len(model.results))
	}
	for _, r := range model.results {
		if strings.Contains(r, "green") {
			t.Errorf("a tool reads %q without a conversation", r)
		}
	}
	if diff := cmp.Diff(before, dumped(t, store)); diff != "" {
		t.Errorf("the store has changed (-before +after):\n%s", diff)
	}
}

func second[T any](_ T, err error) error { return err }

// dumped returns everything in a store.
func dumped(t *testing.T, s *sqlitetest.Store) []string {
	t.Helper()
	var all []string
	ok(t, s.Dump(t.Context(), nil, func(r sessions.Record) error {
		data, err := json.Marshal(r)
		all = append(all, string(data))
		return err
	}))
	return all
}
