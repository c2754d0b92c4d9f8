package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/metrics"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
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
	s := metrics.New("v1", "")
	s.Accepted("telegram", "queued")
	s.Accepted("telegram", "queued")
	s.Quarantined("irc")
	s.TurnEnded("done", 30*time.Millisecond)
	s.Delivered("telegram", "sent")
	s.Repeated("telegram")
	s.Summarized("done", 3*time.Second)
	s.Heartbeat("morning", "silent")
	s.Heartbeats("morning", "missed", 3)
	s.LoginFailed(false)
	s.Hook("turn_done", "ok")
	s.Cost("large", 0.5)
	s.SilentCut("large")
	s.ModelCall("large", "ok", time.Second, 100, 20, 80)
	s.ModelCall("large", "temporary", time.Second, 0, 0, -5)
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
	s.WatchNodes(func(context.Context) ([]sessions.Node, error) { return nil, nil })
	s.WatchTurns(func() (int, time.Duration) { return 2, 5 * time.Second })
	s.WatchHooks(func() map[string]int { return map[string]int{"hooks[0] /bin/true": 4} })
	s.WatchSizes(func() (int64, int64) { return 1000, -1 })
	s.WatchDisk(func() float64 { return 1 })
	s.Phase(metrics.PhaseWait, 20*time.Millisecond)
	s.FirstToken("large", time.Second)
	s.StoreCall("accept", 2*time.Millisecond, fmt.Errorf("sqlite: accept: %w", sessions.ErrFull))
	s.StoreCall("accept", 2*time.Millisecond, errors.New("disk I/O error"))
	s.LeaseHeld("channel:irc")
	s.LeaseHeld("owners")()
	s.APIRequest("GET /api/v1/jobs", http.StatusOK, time.Millisecond)
	s.APIRequest("GET /api/v1/records", http.StatusForbidden, 0)
	s.Request("", http.StatusNotFound)
	s.ListenerCut()
	s.Spans("dropped", 3)
	s.WatchListeners(func() int { return 7 })
	s.WatchPool(func() sessions.Pool {
		return sessions.Pool{Used: 3, Idle: 1, Max: 8, Waits: 5, Waited: 2 * time.Second}
	})
	s.WatchDeliveries(func(context.Context) (map[metrics.Deliveries]int, error) {
		return map[metrics.Deliveries]int{{Channel: "irc", State: "dead"}: 2}, nil
	})
	got := scrape(t, s)
	if strings.Contains(got, "dragoman_media_bytes") {
		t.Error("a size that is not known is shown")
	}
	for _, want := range []string{
		`dragoman_messages_accepted_total{channel="telegram",outcome="queued"} 2`,
		`dragoman_messages_set_aside_total{channel="irc"} 1`,
		`dragoman_turns_total{outcome="done"} 1`,
		`dragoman_turn_seconds_bucket{le="0.05"} 1`,
		`dragoman_turn_seconds_bucket{le="0.025"} 0`,
		`dragoman_deliveries_total{channel="telegram",outcome="sent"} 1`,
		`dragoman_delivery_repeats_total{channel="telegram"} 1`,
		`dragoman_summaries_total{outcome="done"} 1`,
		`dragoman_compaction_seconds_sum 3`,
		`dragoman_heartbeats_total{job="morning",outcome="silent"} 1`,
		`dragoman_heartbeats_total{job="morning",outcome="missed"} 3`,
		`dragoman_login_failures_total{reason="wrong_token"} 1`,
		`dragoman_login_failures_total{reason="too_many"} 0`,
		`dragoman_model_calls_total{model="large",outcome="ok"} 1`,
		`dragoman_model_calls_total{model="large",outcome="temporary"} 1`,
		`dragoman_model_tokens_total{kind="cached",model="large"} 80`,
		`dragoman_model_call_seconds_count{model="large"} 2`,
		`dragoman_model_cost_total{model="large"} 0.5`,
		`dragoman_hook_waiting{hook="hooks[0] /bin/true"} 4`,
		`dragoman_store_bytes 1000`,
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
		`dragoman_turn_phase_seconds_count{phase="wait"} 1`,
		`dragoman_turn_phase_seconds_count{phase="model"} 2`,
		`dragoman_turn_phase_seconds_count{phase="tools"} 1`,
		`dragoman_model_first_token_seconds_count{model="large"} 1`,
		`dragoman_store_seconds_count{operation="accept"} 2`,
		`dragoman_store_errors_total{operation="accept"} 1`,
		`dragoman_leases_held{lease="channel:irc"} 1`,
		`dragoman_leases_held{lease="owners"} 0`,
		`dragoman_leases_taken_total{lease="owners"} 1`,
		`dragoman_api_requests_total{code="200",route="GET /api/v1/jobs"} 1`,
		`dragoman_api_requests_total{code="403",route="GET /api/v1/records"} 1`,
		`dragoman_http_requests_total{code="404",route="none"} 1`,
		`dragoman_stream_cut_total 1`,
		`dragoman_trace_spans_total{outcome="dropped"} 3`,
		`dragoman_stream_listeners 7`,
		`dragoman_pool_connections{state="used"} 3`,
		`dragoman_pool_max_connections 8`,
		`dragoman_pool_waits_total 5`,
		`dragoman_pool_wait_seconds_total 2`,
		`dragoman_outbox_deliveries{channel="irc",state="dead"} 2`,
		`dragoman_build_info{version="v1"} 1`,
		`dragoman_collect_errors_total 0`,
		`go_goroutines`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(got, `dragoman_api_request_seconds_count{route="GET /api/v1/records"}`) {
		t.Error("a stream is timed")
	}
	documented(t, got)
}

// A node's own metrics have its name; metrics of the store do not.
func TestNodes(t *testing.T) {
	s := metrics.New("v1", "here:/var/lib/dragoman")
	s.TurnEnded("done", time.Second)
	s.WatchChannels(func() map[string]channels.Status {
		return map[string]channels.Status{"web": {State: channels.StateConnected}}
	})
	s.WatchQueues(func(context.Context) (sessions.Stats, error) { return sessions.Stats{Waiting: 3}, nil })
	fail := errors.New("away")
	s.WatchNodes(func(context.Context) ([]sessions.Node, error) { return make([]sessions.Node, 2), fail })
	if got := scrape(t, s); strings.Contains(got, "dragoman_nodes") {
		t.Error("nodes are counted that could not be listed")
	}
	fail = nil
	got := scrape(t, s)
	for _, want := range []string{
		`dragoman_turns_total{node="here:/var/lib/dragoman",outcome="done"} 1`,
		`dragoman_channel_up{channel="web",node="here:/var/lib/dragoman"} 1`,
		`dragoman_collect_errors_total{node="here:/var/lib/dragoman"} 1`,
		`go_goroutines{node="here:/var/lib/dragoman"}`,
		"dragoman_inbox_waiting 3",
		"dragoman_nodes 2",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}

// documented compares what is scraped with the table of docs/server.md.
func documented(t *testing.T, page string) {
	t.Helper()
	doc, err := os.ReadFile("../../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| metric `dragoman_…` |")
	table, _, _ = strings.Cut(table, "\n\n")
	listed, scraped := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(first, -1) {
			listed[m[1]] = true
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE dragoman_(\S+)`).FindAllStringSubmatch(page, -1) {
		scraped[m[1]] = true
	}
	delete(listed, "media_bytes") // unknown in this test
	if diff := cmp.Diff(scraped, listed); diff != "" {
		t.Errorf("docs/server.md against /metrics (-scraped +listed):\n%s", diff)
	}
}

func TestLabelsCannotHarm(t *testing.T) {
	s := metrics.New("\xff", "")
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
	s := metrics.New("v", "")
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
