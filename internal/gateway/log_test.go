package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"dragoman/agent/window"
	"dragoman/internal/gateway"
)

// logLines keeps what is logged.
type logLines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// named are the lines with that message.
func (l *logLines) named(t *testing.T, msg string) (found []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["msg"] == msg {
			found = append(found, fields)
		}
	}
	return found
}

// TestWhatTheLogSaysOfContext: how full the window is, when a summary begins
// and what it saved, and when a conversation begins; never a word of it.
func TestWhatTheLogSaysOfContext(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		t.Run(level.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines := &logLines{}
				w, _ := compacting(t, window.Presets["picoclaw"], 32768, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
					o.Logger = slog.New(slog.NewJSONHandler(lines, &slog.HandlerOptions{Level: level}))
				})
				for i := range 11 {
					w.say("1", fmt.Sprint("a secret word ", i))
					synctest.Wait()
				}
				want := map[string]int{"session created": 1, "context ok": 10, "context compaction triggered": 1, "conversation summarised": 1}
				if level == slog.LevelInfo {
					want["context ok"] = 0
				}
				for msg, n := range want {
					if found := lines.named(t, msg); len(found) != n {
						t.Errorf("%d lines %q, want %d", len(found), msg, n)
					}
				}
				for _, msg := range []string{"context ok", "context compaction triggered"} {
					for _, line := range lines.named(t, msg) {
						tokens, percent := line["tokens"].(float64), line["usage_percent"].(float64)
						if line["limit"] != 32768.0 || tokens < 1 || fmt.Sprintf("%.1f", tokens/327.68) != fmt.Sprintf("%.1f", percent) || line["key"] != "net:1" {
							t.Errorf("%v", line)
						}
					}
				}
				if line := lines.named(t, "session created")[0]; line["generation"] == "" || line["key"] != "net:1" {
					t.Errorf("%v", line)
				}
				line := lines.named(t, "conversation summarised")[0]
				for _, fact := range []string{"old_tokens", "new_tokens", "messages", "covered", "savings_percent"} {
					if line[fact] == nil {
						t.Errorf("a line about a summary has no %s: %v", fact, line)
					}
				}
				w.close()
				if strings.Contains(lines.all.String(), "secret") {
					t.Error("the log has words of the chat")
				}
			})
		})
	}
}
