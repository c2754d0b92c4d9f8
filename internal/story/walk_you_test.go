package story_test

import (
	"testing"

	"dragoman/internal/api"
)

// What waits is counted in the navigation of every view. An operator lets a stranger in, reads
// what a call in a talk of others would do, and sees who decided it meanwhile.
func TestWalkForYou(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.open("/health")
	w.click("link", "For you 2 waiting")
	w.reads("Carol wants to talk")
	w.click("button", "Approve")
	w.reads("Carol may talk now.")
	w.reads("Pairing: Carol on Telegram")
	w.reads("May Dragoman run write_file?")
	w.reads("Group 0200 on Telegram") // nobody knows its name
	w.click("button", "Show what it would do")
	w.reads("watering/plan.txt")
	w.click("button", "More choices")
	w.click("button", "Not now")
	w.reads("1 thing was put off.")
	w.click("button", "Undo")
	w.click("button", "Show what it would do")
	w.find("button", "Allow once")
	waiting, err := api.ListApprovals.Call(t.Context(), d.admin, api.ApprovalQuery{Pending: true})
	if err != nil || len(waiting.Data) != 1 {
		t.Fatalf("%+v, %v, want the one call that waits", waiting, err)
	}
	if _, err := api.AnswerApproval.Call(t.Context(), d.admin, api.Answer{ID: waiting.Data[0].ID, Answer: "deny"}); err != nil {
		t.Fatal(err)
	}
	w.reads("Denied by you")
	w.find("link", "For you")
}
