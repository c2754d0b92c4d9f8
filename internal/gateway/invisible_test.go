package gateway_test

import (
	"testing"
	"testing/synctest"
)

// A message that shows nothing is no question: it costs no call of the model.
func TestInvisibleMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for _, text := range []string{" \n", "\u200b", "\u2800 \u2800", "\u3164", "\ufeff\u200d", "\u202e"} {
			w.say("1", text)
		}
		w.say("1", "\u200bhello")
		synctest.Wait()
		if n := len(w.agent.turns); n != 1 {
			t.Errorf("%d turns, want one for the message with words", n)
		}
		w.expect("1", "echo \u200bhello")
	})
}
