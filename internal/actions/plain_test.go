package actions_test

import (
	"strings"
	"testing"

	"dragoman/internal/actions"
)

// A tool's own words are shown whole, line by line, and are part of what is allowed.
func TestAQuestionInWords(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("word ", 500)
	w.call.Ask = "To Bob, telegram:7:\nDinner at\u202e eight?\n" + long + "end"
	if got := w.said(); got != "ask" {
		t.Fatalf("Decide = %s", got)
	}
	q := w.question()
	text := q.Text(true)
	for _, want := range []string{"To Bob, telegram:7:\nDinner at\\u{202e} eight?\n", "end\n```"} {
		if !strings.Contains(text, want) {
			t.Errorf("the question lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "example.org") {
		t.Errorf("the question shows the arguments, too:\n%s", text)
	}
	if line := q.Line(); strings.Contains(line, "\n") {
		t.Errorf("the line has several: %q", line)
	}
	w.gives(ann, actions.AllowOnce, actions.Decided)
	w.call.Ask = "To Eve, telegram:8:\nDinner?"
	if got := w.said(); !strings.Contains(got, "something has changed") {
		t.Errorf("after the target has changed: %s", got)
	}
}
