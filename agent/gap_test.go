package agent_test

import (
	"testing"

	"dragoman/agent"
	"dragoman/sessions"
)

// If a summary ends before the loaded messages begin, some are lost, and each request
// with that history counts them.
func TestGapAfterTheSummaryIsCounted(t *testing.T) {
	for first, want := range map[int64]int{11: 0, 15: 4} {
		turn := turnOf("and now?")
		turn.History = sessions.History{Summary: &sessions.Summary{Text: "They talked.", CoversSeq: 10}, Messages: long(4)}
		for i := range turn.History.Messages {
			turn.History.Messages[i].Seq = first + int64(i)
		}
		// run would fail the test if any are missing.
		res, err := newAgent(t, newScript(t, say("ok")), agent.Options{}).Run(t.Context(), turn)
		if err != nil || res.Unaccounted != want {
			t.Errorf("a summary up to 10 and messages from %d: Unaccounted = %d, %v, want %d", first, res.Unaccounted, err, want)
		}
	}
}

// The same holds for a history without a summary that does not begin where its
// generation does.
func TestGapWithoutASummaryIsCounted(t *testing.T) {
	for first, want := range map[int64]int{7: 0, 10: 3} {
		turn := turnOf("and now?")
		turn.History = sessions.History{FirstSeq: 7, Messages: long(4)}
		for i := range turn.History.Messages {
			turn.History.Messages[i].Seq = first + int64(i)
		}
		res, err := newAgent(t, newScript(t, say("ok")), agent.Options{}).Run(t.Context(), turn)
		if err != nil || res.Unaccounted != want {
			t.Errorf("a generation from 7 and messages from %d: Unaccounted = %d, %v, want %d", first, res.Unaccounted, err, want)
		}
	}
}
