package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// TestTruncationIsLogged: once in a turn, with the reason, and not at all if
// everything fits.
func TestTruncationIsLogged(t *testing.T) {
	c := window.Presets[window.DefaultPreset]
	off := c
	off.When = window.WhenOff
	long := sessions.History{Generation: "g"}
	for i := range 40 {
		role := []sessions.Role{sessions.RoleUser, sessions.RoleAssistant}[i%2]
		long.Messages = append(long.Messages, sessions.Message{Seq: int64(i + 1), Role: role, Content: strings.Repeat("secret words ", 60)})
	}
	fails := func(err error) func(context.Context, *window.Keep) (sessions.History, error) {
		return func(context.Context, *window.Keep) (sessions.History, error) { return sessions.History{}, err }
	}
	same := func(context.Context, *window.Keep) (sessions.History, error) { return long, nil }
	for name, tt := range map[string]struct {
		c       window.Compaction
		compact func(context.Context, *window.Keep) (sessions.History, error)
		h       sessions.History
		want    string
	}{
		"it fits":     {c, same, sessions.History{}, ""},
		"nothing old": {c, fails(recap.ErrNothingToSummarize), long, `level=INFO msg="context truncated" key=%s reason="no old messages to summarise"`},
		"it failed":   {c, fails(errors.New("no")), long, `level=INFO msg="context truncated" key=%s reason="the summary failed"`},
		"it rests":    {c, fails(recap.ErrPaused), long, `level=DEBUG msg="context truncated" key=%s reason="summaries rest after one that failed"`},
		"too long":    {c, same, long, `level=INFO msg="context truncated" key=%s reason="too long in spite of a summary"`},
		"off":         {off, same, long, `level=DEBUG msg="context truncated" key=%s reason="summaries are off"`},
		"a job":       {c, nil, long, `level=INFO msg="context truncated" key=%s reason="no transcript"`},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			m := newScript(t, call("c get {}"), say("Done."))
			a := newAgent(t, m, agent.Options{
				ContextWindow: 4096, Compaction: tt.c,
				Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}, newCounter("get"))
			turn := turnOf("go on")
			turn.History, turn.Compact = tt.h, tt.compact
			res := runUnsummarised(t, a, turn)
			if want := name == "it failed" || name == "it rests"; res.SummaryFailed != want {
				t.Errorf("SummaryFailed = %v, want %v", res.SummaryFailed, want)
			}
			n := strings.Count(log.String(), "context truncated")
			switch {
			case tt.want == "" && n > 0:
				t.Errorf("the log says\n%s", log.String())
			case tt.want != "" && (n != 1 || !strings.Contains(log.String(), fmt.Sprintf(tt.want, turn.Key))):
				t.Errorf("the log says %d times\n%s\nwant %s", n, log.String(), tt.want)
			}
			if strings.Contains(log.String(), "secret") {
				t.Error("the log has words of the chat")
			}
		})
	}
}
