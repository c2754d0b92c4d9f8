package gateway_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// Whatever the preset, and however short the messages are, a turn loads all
// messages that no summary covers.
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
				if ag.count() == 0 || w.seen.get("summary failed")+w.seen.get("summary longer") > 0 {
					t.Errorf("of %d summaries of 1000 messages %d failed, want some that do not", ag.count(), w.seen.get("summary failed"))
				}
			})
		})
	}
}

// TestWhatARequestLacksIsCounted: messages that a request left out are counted,
// with and without a note about them, separately.
func TestWhatARequestLacksIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.real = &lacking{w.agent} })
		w.say("1", "hello")
		synctest.Wait()
		for what, want := range map[string]int{"unaccounted": 2, "unaccounted 2 false": 1, "unaccounted 3 true": 1} {
			if n := w.seen.get(what); n != want {
				t.Errorf("%q was counted %d times, want %d", what, n, want)
			}
		}
		w.seen.clear() // no other test may have any
	})
}

// lacking is an agent whose requests leave out five messages, three of them
// with a note.
type lacking struct{ *scripted }

func (l *lacking) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	res, err := l.scripted.Run(ctx, t)
	res.Unaccounted, res.SilentlyDropped = 5, 2
	return res, err
}
