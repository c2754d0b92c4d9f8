package agent_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// withLate is a conversation with n results that came after their turn.
func withLate(n int) sessions.History {
	h := sessions.History{Messages: []sessions.Message{
		{Seq: 1, Role: sessions.RoleUser, Content: "first", Turn: "t0"},
		{Seq: 2, Role: sessions.RoleAssistant, Content: "(stopped)", Turn: "t0"},
	}}
	for i := range n {
		h.Messages = append(h.Messages, sessions.Message{
			Seq: int64(3 + i), Role: sessions.RoleTool, ToolCallID: fmt.Sprint("call_", i), Content: "LATE", Turn: "t0",
		})
	}
	return h
}

// TestCase15LateResultIsSaidOnce: every later turn of a conversation meets its
// late results again, and the log says so only when there are more of them;
// what it says of one conversation takes nothing from another.
func TestCase15LateResultIsSaidOnce(t *testing.T) {
	const line = `level=%s msg="results of tools that answer no call are left out" key=%s count=%d`
	turns := []struct {
		chat  string
		late  int
		level string
	}{
		{"x:1", 1, "INFO"},
		{"x:1", 1, "DEBUG"},
		{"x:2", 1, "INFO"},
		{"x:1", 2, "INFO"},
		{"x:1", 2, "DEBUG"},
		{"x:1", 0, ""}, // as in a job's turn, which has no history
		{"x:1", 2, "DEBUG"},
		{"x:2", 1, "DEBUG"},
	}
	var want []string
	var replies []reply
	for _, turn := range turns {
		replies = append(replies, say("Done."))
		if turn.late > 0 {
			want = append(want, fmt.Sprintf(line, turn.level, turn.chat, turn.late))
		}
	}
	var log strings.Builder
	a := newAgent(t, newScript(t, replies...), agent.Options{
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	for _, next := range turns {
		turn := turnOf("go on")
		turn.Key, turn.History = channels.MustKey(next.chat), withLate(next.late)
		run(t, a, turn)
	}
	var got []string
	for l := range strings.Lines(log.String()) {
		if strings.Contains(l, "answer no call") {
			_, after, _ := strings.Cut(strings.TrimSpace(l), " ")
			got = append(got, after)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if strings.Contains(log.String(), "LATE") {
		t.Error("the log shows a result")
	}
}
