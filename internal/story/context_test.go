package story_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/internal/testkit"
)

// read is what the model got of a request, message by message, as it was sent.
func read(t *testing.T, r *agenttest.Request) (list []string) {
	t.Helper()
	var body struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, m := range body.Messages {
		list = append(list, string(m))
	}
	return list
}

// The model sees when each message was written, in the owner's zone, and the next
// request begins as the one before. Nobody else sees it, not even if the model
// copies it.
func TestModelSeesTheTime(t *testing.T) {
	h := newHouse(t, plan{rest: "agent: {time_zone: Asia/Kolkata}", options: agenttest.Options{
		Reply: func(r *agenttest.Request) agenttest.Reply {
			return agenttest.TextReply("[Mon 2026-11-23 14:00 +05:30]\nheard " + r.LastUser())
		},
	}})
	h.start()
	for n, text := range []string{"hello #1", "why? #2", "and now? #3"} {
		h.tell(ann, text)
		if got := h.said(ann.ID, n+1)[n]; got != "heard "+text {
			t.Errorf("Ann reads %q", got)
		}
	}
	asked := h.asked()
	stamp := regexp.MustCompile(`"content":"\[(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d \+05:30\]\\nwhy\? #2"`)
	if messages := read(t, asked[1]); !stamp.MatchString(messages[3]) || !strings.Contains(messages[0], "(time zone Asia/Kolkata)") {
		t.Errorf("the model reads %q", messages)
	}
	for i := range asked[1:] {
		if before, now := read(t, asked[i]), read(t, asked[i+1]); !slices.Equal(before, now[:len(before)]) {
			t.Errorf("request %d does not begin with the one before:\n%q\n%q", i+1, before, now)
		}
	}
	testkit.Eventually(h.t, "the transcript", func() bool {
		return strings.Contains(h.dragoman("sessions", "show", "telegram:71"), "heard and now? #3")
	})
	if shown := h.dragoman("sessions", "show", "telegram:71"); strings.Contains(shown, "+05:30]") {
		t.Errorf("the transcript has stamps:\n%s", shown)
	}
}
