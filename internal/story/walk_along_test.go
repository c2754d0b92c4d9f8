package story_test

import (
	"slices"
	"testing"
)

// An operator reads along while somebody writes, and answers as the assistant and as
// themselves. Each says by whom it is.
func TestWalkAlong(t *testing.T) {
	pageKit(t)
	h := newHouse(t, walkPlan())
	d := h.start()
	h.tell(ann, "Is somebody there?")
	h.said(ann.ID, 1)
	w := d.walker(chromium(t), d.linked())
	w.open("/talk/telegram:71")
	w.reads("You read along. Ann was told that you can")
	h.tell(ann, "I mean a person.")
	w.reads("echo: I mean a person.")
	w.types("Write a message", "We know of it.")
	w.click("button", "Send to Telegram")
	w.reads("written by operator")
	w.click("button", "operator")
	w.types("Write a message", "I look into it.")
	w.click("button", "Send to Telegram")
	w.reads("by hand")
	got := h.said(ann.ID, 5) // with the notice that somebody reads along
	if want := []string{"We know of it.", "operator: I look into it."}; !slices.Equal(got[3:], want) {
		t.Errorf("Ann was sent %q, want %q in the end", got, want)
	}
}

// Where nobody reads along, nothing is asked for that would be refused.
func TestWalkTalkOfOthers(t *testing.T) {
	pageKit(t)
	p := walkPlan()
	p.rest = ""
	h := newHouse(t, p)
	d := h.start()
	h.tell(ann, "between us")
	h.said(ann.ID, 1)
	w := d.walker(chromium(t), d.linked())
	w.open("/talk")
	w.click("link", "71…")
	w.reads("This is a talk of others")
	w.open("/talk/telegram:71/details")
	w.find("textbox", "Title")
}
