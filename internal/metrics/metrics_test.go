package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/metrics"
	"dragoman/sessions"
)

var _ gateway.Observer = (*metrics.Set)(nil)

func scrape(t *testing.T, s *metrics.Set) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestEverythingIsCounted(t *testing.T) {
	s := metrics.New("v1")
	s.Accepted("telegram", "queued")
	s.Accepted("telegram", "queued")
	s.SetAside("irc")
	s.TurnEnded("done", 30*time.Millisecond)
	s.Delivered("telegram", "sent")
	s.Repeated("telegram")
	s.Summarized("done")
	s.Heartbeat("morning", "silent")
	s.ModelCall("ok", time.Second, 100, 20, 80)
	s.ModelCall("temporary", time.Second, 0, 0, -5)
	s.ToolCall("time", "ok", time.Millisecond)
	s.WatchQueues(func(context.Context) (sessions.Stats, error) {
		return sessions.Stats{Waiting: 3, Dead: 2, Oldest: time.Now().Add(-time.Minute), OldestSend: time.Now().Add(time.Hour)}, nil
	})
	s.WatchChannels(func() map[string]channels.Status {
		return map[string]channels.Status{
			"irc": {State: channels.StateDown, Since: time.Now()}, "web": {State: channels.StateConnected},
			"wa": {State: channels.StateFailed, Reason: "needs_pairing", Since: time.Now()},
		}
	})
	s.WatchTurns(func() (int, time.Duration) { return 2, 5 * time.Second })
	got := scrape(t, s)
	for _, want := range []string{
		`dragoman_messages_accepted_total{channel="telegram",outcome="queued"} 2`,
		`dragoman_messages_set_aside_total{channel="irc"} 1`,
		`dragoman_turns_total{outcome="done"} 1`,
		`dragoman_turn_seconds_bucket{le="0.05"} 1`,
		`dragoman_turn_seconds_bucket{le="0.025"} 0`,
		`dragoman_deliveries_total{channel="telegram",outcome="sent"} 1`,
		`dragoman_delivery_repeats_total{channel="telegram"} 1`,
		`dragoman_summaries_total{outcome="done"} 1`,
		`dragoman_heartbeats_total{job="morning",outcome="silent"} 1`,
		`dragoman_model_calls_total{outcome="ok"} 1`,
		`dragoman_model_calls_total{outcome="temporary"} 1`,
		`dragoman_model_tokens_total{kind="cached"} 80`,
		`dragoman_tool_calls_total{outcome="ok",tool="time"} 1`,
		`dragoman_inbox_waiting 3`,
		`dragoman_outbox_dead 2`,
		`dragoman_inbox_oldest_seconds 60.`,
		`dragoman_outbox_oldest_seconds 0`,
		`dragoman_channel_up{channel="irc"} 0`,
		`dragoman_channel_up{channel="web"} 1`,
		`dragoman_channel_state{channel="irc",state="down"} 1`,
		`dragoman_channel_state{channel="wa",state="needs_pairing"} 1`,
		`dragoman_channel_state{channel="web",state="connected"} 1`,
		`dragoman_channel_state_seconds{channel="irc",state="down"} `,
		`dragoman_channel_state_seconds{channel="wa",state="needs_pairing"} `,
		`dragoman_turns_running 2`,
		`dragoman_turn_oldest_seconds 5`,
		`dragoman_build_info{version="v1"} 1`,
		`dragoman_collect_errors_total 0`,
		`go_goroutines`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestNilCountsNothing(t *testing.T) {
	var s *metrics.Set
	s.Accepted("a", "b")
	s.SetAside("a")
	s.TurnEnded("a", 1)
	s.Delivered("a", "b")
	s.Repeated("a")
	s.Summarized("a")
	s.Heartbeat("a", "b")
	s.ModelCall("a", 1, 1, 1, 1)
	s.ToolCall("a", "b", 1)
	s.WatchQueues(nil)
	s.WatchChannels(nil)
	s.WatchTurns(nil)
	if got := scrape(t, s); got != "" {
		t.Errorf("a nil set serves %q", got)
	}
}

func TestLabelsCannotHarm(t *testing.T) {
	s := metrics.New("\xff")
	s.ToolCall("\xff\xfe\n\"", "\xff", 1)
	s.ToolCall(strings.Repeat("é", 100), "ok", 1)
	for i := range 1000 {
		s.ToolCall(fmt.Sprintf("invented-%d", i), "ok", 1)
	}
	got := scrape(t, s)
	if n := strings.Count(got, "dragoman_tool_calls_total{"); n > 101 {
		t.Errorf("%d series, want at most 101", n)
	}
	if !strings.Contains(got, `dragoman_tool_calls_total{outcome="ok",tool="other"} 90`) {
		t.Errorf("the rest is not counted as other:\n%s", got)
	}
}

func TestUnreadableQueuesAreLeftOut(t *testing.T) {
	s := metrics.New("v")
	s.WatchQueues(func(ctx context.Context) (sessions.Stats, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("reading the queues has no deadline")
		}
		return sessions.Stats{}, errors.New("disk I/O error")
	})
	scrape(t, s)
	got := scrape(t, s)
	if strings.Contains(got, "dragoman_inbox_waiting") {
		t.Error("unknown depths are shown")
	}
	if !strings.Contains(got, "dragoman_collect_errors_total 1") && !strings.Contains(got, "dragoman_collect_errors_total 2") {
		t.Error("the failure is not counted")
	}
}
