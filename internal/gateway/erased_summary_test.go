package gateway_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// After an erasure in a conversation, its summaries are stored as before: only one that
// had begun by then is not.
func TestSummaryAfterAnErasure(t *testing.T) {
	for _, times := range []int{0, 1, 2, 3} {
		t.Run(fmt.Sprint(times), func(t *testing.T) { summaryAfterErasures(t, times) })
	}
}

// summaryAfterErasures erases a person so many times, each after they have spoken.
func summaryAfterErasures(t *testing.T, times int) {
	synctest.Test(t, func(t *testing.T) {
		w, ag := compacting(t, window.Presets["picoclaw"], 32768)
		w.talk(4)
		said := w.message("1", "a secret")
		for range times {
			w.talk(4)
			if _, err := w.mem.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "net", ID: said.Sender.ID()}, {Channel: "net", ID: "1"}}}); err != nil {
				t.Fatal(err)
			}
		}
		if h := w.history("1"); (h.Erasures > 0) != (times > 0) {
			t.Fatalf("%d erasures are known", h.Erasures)
		}
		w.talk(12)
		synctest.Wait()
		time.Sleep(time.Minute)
		if h := w.history("1"); ag.count() == 0 || h.Summary == nil {
			t.Errorf("after %d attempts the summary is %v, want one", ag.count(), h.Summary)
		}
	})
}
