package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/testkit"
)

// logLines keeps what is logged.
type logLines struct{ testkit.Output }

// named are the lines with that message.
func (l *logLines) named(t *testing.T, msg string) (found []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
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
				if line := lines.named(t, "session created")[0]; line["generation"] == nil || line["generation"] == "" || line["key"] != "net:1" {
					t.Errorf("%v", line)
				}
				line := lines.named(t, "conversation summarised")[0]
				for _, fact := range []string{"old_tokens", "new_tokens", "messages", "covered", "savings_percent"} {
					if line[fact] == nil {
						t.Errorf("a line about a summary has no %s: %v", fact, line)
					}
				}
				w.close()
				if strings.Contains(lines.String(), "secret") {
					t.Error("the log has words of the chat")
				}
			})
		})
	}
}

// TestTitleIsAudited: a title is only set if the audit log can be written.
func TestTitleIsAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		var w *world
		full := false
		w = start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.Audit = func(action string, do func() error, keys ...channels.Key) error {
				if full {
					return errors.New("no space")
				}
				before, _ := w.mem.Conversation(t.Context(), keys[0])
				err := do()
				after, _ := w.mem.Conversation(t.Context(), keys[0])
				lines = append(lines, fmt.Sprintf("%s %s %q %q", action, keys[0], before.Title, after.Title))
				return err
			}
		})
		w.say("1", "/title Too early")
		synctest.Wait()
		w.say("1", "hello")
		synctest.Wait()
		w.say("1", "/title Rome")
		synctest.Wait()
		want := []string{`title net:1 "" ""`, `title net:1 "" "Rome"`}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("audit lines (-want +got):\n%s", diff)
		}
		full = true
		w.say("1", "/title Oslo")
		synctest.Wait()
		if texts := w.net.texts("1"); !strings.Contains(texts[len(texts)-1], "could not") {
			t.Errorf("a title that nobody could write down is answered %q", texts[len(texts)-1])
		}
		if c, err := w.mem.Conversation(t.Context(), channels.MustKey("net:1")); err != nil || c.Title != "Rome" {
			t.Errorf("the title is %q, %v", c.Title, err)
		}
	})
}

// TestOverFullIsNotOK: the log does not call an overfull window OK.
func TestOverFullIsNotOK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := &logLines{}
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.Logger = slog.New(slog.NewJSONHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		w.agent.run = func(context.Context, agent.Turn) (string, error) { return "well", nil }
		for _, said := range []string{strings.Repeat("a", 996), "b"} { // the window has 1000
			w.say("1", said)
			synctest.Wait()
		}
		if ok, over := lines.named(t, "context ok"), lines.named(t, "context over full"); len(ok) != 1 || len(over) != 1 || over[0]["usage_percent"] != 100.5 {
			t.Errorf("the log says %v and %v, want the first at 100 %% and the second at 100.5 %%", ok, over)
		}
	})
}
