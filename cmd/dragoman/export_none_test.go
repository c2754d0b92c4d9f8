package main

import (
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
)

// A key that somebody asked under to be paired has queues and no conversation;
// one whose conversation was deleted has neither.
func TestExportOfNoConversation(t *testing.T) {
	w := newWorld(t)
	_, err := w.daemon.store.Accept(t.Context(), sessions.Entry{
		Inbound: channels.Inbound{Key: channels.MustKey("telegram:5"), ID: "1", Text: "hello"}, Answered: true,
		Replies: []sessions.Reply{{Text: "The code is X"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.say("telegram:6", "", "hello")
	w.want(nil, "sessions", "delete", "telegram:6", "--yes")
	for _, format := range []string{"json", "markdown"} {
		code, out, errs := w.run("sessions", "export", "telegram:5", "--format", format)
		if code != 1 || out != "" || !strings.Contains(errs, "there is no conversation telegram:5;") {
			t.Errorf("export as %s = %d, %q, %q", format, code, out, errs)
		}
	}
	w.want([]string{`{"conversation":{"key":"telegram:5"`, `"text":"hello"`, "The code is X"}, "sessions", "export", "telegram:5")
	if code, out, errs := w.run("sessions", "export", "telegram:6"); code != 1 || out != "" || !strings.Contains(errs, "there is no conversation telegram:6;") {
		t.Errorf("export of a name = %d, %q, %q", code, out, errs)
	}
}
