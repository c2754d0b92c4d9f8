package exchange_test

import (
	"strings"
	"testing"
)

// A document of ours keeps its times, even if a message is older or newer. A conversation
// of another program begins with its first message.
func TestTimesOfADocumentOfOursStay(t *testing.T) {
	const text = `{"key":"x:1","created":"2026-05-01T12:00:00.007Z","updated":"2026-05-01T12:00:01Z","messages":[
		{"role":"user","content":"a","seq":1,"at":"2026-05-01T12:00:00Z"},{"role":"assistant","content":"b","seq":2,"at":"2026-05-01T12:00:02Z"}],
		"generations":[{"id":"20260501_001","first_seq":1,"last_seq":2,"began":"2026-05-01T12:00:00Z"}]}`
	if c := readOne(t, text); c.Created.Nanosecond() != 7e6 || c.Updated.Second() != 1 {
		t.Errorf("it is from %v to %v", c.Created, c.Updated)
	}
	theirs, _, _ := strings.Cut(text, ",\n\t\t\"generations")
	if c := readOne(t, theirs+"}"); c.Created.Nanosecond() != 0 || c.Updated.Second() != 2 {
		t.Errorf("that of others is from %v to %v", c.Created, c.Updated)
	}
}
