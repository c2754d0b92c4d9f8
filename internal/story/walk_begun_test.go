package story_test

import (
	"strings"
	"testing"
)

// The first turn of a conversation waits for a yes. It is opened from For you, shows what was
// asked, and is decided there.
func TestWalkBeginning(t *testing.T) {
	pageKit(t)
	h := newHouse(t, walkPlan())
	d := h.start()
	h.tell(ann, `!tool write_file {"path":"watering/plan.txt","content":"Mondays: Ann."}`)
	w := d.walker(chromium(t), d.linked())
	w.open("/you")
	w.reads("May Dragoman run write_file?")
	w.click("button", "More choices")
	w.click("button", "Open the conversation")
	w.reads("You read along. Ann ")
	w.until("it in the list", `document.querySelector(".list .row[aria-current=page]")`)
	w.reads(`!tool write_file {"path":"watering/plan.txt"`)
	w.reads("May Dragoman run write_file?")
	w.picture("begun")
	w.until("a button that is not dead any more", `document.querySelector(".inset button.primary[aria-disabled=false]")`)
	w.click("button", "Allow once")
	w.reads("Allowed by you")
	said := h.said(ann.ID, 3) // with the question, and that somebody reads along
	if last := said[len(said)-1]; !strings.Contains(last, "watering/plan.txt") {
		t.Errorf("Ann was sent %q", said)
	}
}
