package gateway_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// Whatever the preset, and however short the messages are, a turn loads all
// that no summary stands for.
func TestPresetsLeaveNothingOut(t *testing.T) {
	const tokens = 4096
	for _, name := range window.PresetNames() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				messages, bytes := gateway.HistoryFor(tokens)
				w, ag := compacting(t, window.Presets[name], tokens, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
					o.HistoryMessages, o.HistoryBytes = messages, bytes
				})
				for i := range 500 {
					w.say("1", fmt.Sprint(i))
					synctest.Wait()
				}
				h, err := w.mem.History(t.Context(), channels.MustKey("net:1"), sessions.HistoryLimit{Messages: messages, Bytes: bytes})
				if err != nil || h.Omitted != 0 {
					t.Errorf("%d messages are neither loaded nor summarised, %v", h.Omitted, err)
				}
				if ag.count() == 0 || w.seen.get("summary failed") > 0 {
					t.Errorf("of %d summaries of 1000 messages %d failed, want some that do not", ag.count(), w.seen.get("summary failed"))
				}
			})
		})
	}
}
