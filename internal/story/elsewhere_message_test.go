package story_test

import (
	"fmt"
	"strings"
	"testing"
)

// Ann has words sent to Bob's chat. He reads who asked, an answer of his makes sense to the
// model, and after foreign words she is asked first, with the whole text.
func TestAMessageToAnotherChat(t *testing.T) {
	h := newHouse(t, plan{rest: fmt.Sprintf("routes: [{from: \"telegram:%d\", to: \"telegram:%d\", name: Bob}]", ann.ID, bob.ID)})
	h.start()
	h.tell(bob, "hello")
	h.said(bob.ID, 1)
	h.tell(ann, `!tool send_message {"to":"Bob","text":"Dinner at eight?"}`)
	if got := h.said(ann.ID, 1)[0]; !strings.Contains(got, "It is on its way to Bob.") {
		t.Errorf("Ann reads %q", got)
	}
	if got := h.said(bob.ID, 2)[1]; got != ann.FirstName+" asked me on telegram to tell you this.\n\nDinner at eight?" {
		t.Errorf("Bob reads %q", got)
	}
	h.tell(bob, "yes")
	h.said(bob.ID, 3)
	requests := h.asked()
	last := requests[len(requests)-1].Messages
	if said := fmt.Sprint(last); !strings.Contains(said, "This was sent here:]\nDinner at eight?") {
		t.Errorf("the model does not know what Bob answers: %s", said)
	}
	h.tell(bob, `!tool send_message {"to":"ann","text":"no"}`)
	if got := h.said(bob.ID, 4)[3]; !strings.Contains(got, "nothing can be sent to others") {
		t.Errorf("without a route Bob reads %q", got)
	}

	h.tell(ann, `!tool read_file {"path":"none"}`)
	h.said(ann.ID, 2)
	long := strings.Repeat("words ", 300) + "the end"
	h.tell(ann, `!tool send_message {"to":"Bob","text":"`+long+`"}`)
	h.until("a question", func() bool { return len(h.under(ann.ID)) > 0 })
	all := h.api.FromBot(ann.ID)
	if got := all[len(all)-1]; !strings.Contains(got, "To Bob, telegram:") || !strings.Contains(got, "the end") {
		t.Errorf("the question does not show all of it: %q", got)
	}
	h.said(bob.ID, 4)
	h.presses(ann, h.api.Private(ann), "Allow once")
	if got := h.said(bob.ID, 5)[4]; !strings.HasSuffix(got, "the end") {
		t.Errorf("Bob reads %q", got)
	}
}

// What the one at the terminal has sent comes from whoever runs Dragoman, and by their name
// once it is known: alerts.to is their chat.
func TestAMessageFromTheTerminal(t *testing.T) {
	h := newHouse(t, plan{rest: fmt.Sprintf("alerts: {to: \"telegram:%d\"}\nroutes: [{from: \"cli:*\", to: \"telegram:%d\", name: Bob}]", ann.ID, bob.ID)})
	h.start()
	h.tell(bob, "hello")
	h.said(bob.ID, 1)
	h.dragoman("ask", `!tool send_message {"to":"Bob","text":"Dinner at eight?"}`)
	if got := h.said(bob.ID, 2)[1]; got != "Whoever runs me asked me to tell you this.\n\nDinner at eight?" {
		t.Errorf("Bob reads %q", got)
	}
	h.tell(ann, "hello")
	h.said(ann.ID, 1)
	h.dragoman("ask", `!tool send_message {"to":"Bob","text":"Or at nine?"}`)
	if got := h.said(bob.ID, 3)[2]; got != ann.FirstName+" asked me to tell you this.\n\nOr at nine?" {
		t.Errorf("Bob reads %q", got)
	}
}
