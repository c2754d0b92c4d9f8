package story_test

import (
	"slices"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// Whatever is answered is marked as read, however quickly.
func TestWhatsAppRead(t *testing.T) {
	w := newWhatsApp(t)
	w.begin()
	w.login()
	w.sees(connected)
	read := func(id string) {
		t.Helper()
		testkit.Eventually(w.t, "the message to be marked as read", func() bool { return w.server.HasRead(id) })
	}
	say := func(text, want string) (id string) {
		t.Helper()
		id = w.ann.Say(text)
		testkit.Eventually(w.t, "an answer to "+text, func() bool {
			return slices.ContainsFunc(w.ann.Texts(), func(s string) bool { return strings.Contains(s, want) })
		})
		return id
	}
	read(say("a quick one", "echo: a quick one"))
	read(say("/help", "/status"))
	long := w.ann.Say("!hold long")
	read(long) // while its answer is written
	if slices.ContainsFunc(w.ann.Texts(), func(s string) bool { return strings.Contains(s, "end of long") }) {
		t.Error("the long answer came before its time")
	}
	w.gates.open("long")
	testkit.Eventually(w.t, "the long answer", func() bool {
		return slices.ContainsFunc(w.ann.Texts(), func(s string) bool { return strings.Contains(s, "end of long") })
	})
}
