package gateway_test

import (
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// After an erasure in a conversation, its summaries are stored as before: only one that
// had begun by then is not.
func TestSummaryAfterAnErasure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ag := compacting(t, window.Presets["picoclaw"], 32768)
		w.talk(4)
		said := w.message("1", "a secret")
		said.Sender.IDs = []string{"7"}
		w.talk(4)
		if _, err := w.mem.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "net", ID: said.Sender.ID()}, {Channel: "net", ID: "1"}}}); err != nil {
			t.Fatal(err)
		}
		if h := w.history("1"); h.Erasures == 0 {
			t.Fatal("nothing was erased")
		}
		w.talk(12)
		synctest.Wait()
		time.Sleep(time.Minute)
		if h := w.history("1"); ag.count() == 0 || h.Summary == nil {
			t.Errorf("after %d attempts the summary is %v, want one", ag.count(), h.Summary)
		}
	})
}
