package story_test

import (
	"testing"

	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// Somebody makes a reminder on the page, cancels it and brings it back; an operator pauses a
// job and lets it run again.
func TestWalkJobs(t *testing.T) {
	pageKit(t)
	d := newHouse(t, walkPlan()).start()
	w := d.walker(chromium(t), d.linked())
	w.open("/jobs")
	w.click("button", "New reminder")
	w.types("What", "Water the tomatoes")
	w.click("button", "Remind me")
	w.reads("The reminder is made.")
	w.reads("Tomorrow 09:00")
	w.click("button", "Cancel Water the tomatoes")
	w.reads("Cancelled.")
	w.click("button", "Undo")
	w.reads("Undone.")
	w.find("button", "Cancel Water the tomatoes")
	w.click("button", "Pause morning")
	w.reads("operator paused it")
	w.click("button", "Resume morning")
	w.reads("Resumed.")
	list, err := api.ListJobs.Call(t.Context(), d.admin, api.JobQuery{})
	if err != nil || len(list.Data) != 3 {
		t.Fatalf("the jobs are %+v, %v; want two and a reminder", list, err)
	}
	if err := api.PauseJob.Call(t.Context(), d.admin, api.JobName{Name: "morning"}); err != nil {
		t.Fatal(err)
	}
	w.reads("operator paused it") // by an event: nobody pressed anything
	testkit.Eventually(t, "the reminder to be due", func() bool {
		list, err := api.ListJobs.Call(t.Context(), d.admin, api.JobQuery{Kind: "reminder"})
		return err == nil && len(list.Data) == 1 && !list.Data[0].Next.IsZero()
	})
}

// An operator looks up who used most, opens their page and sees what erasing them would
// remove; and finds what failed in the log.
func TestWalkSomebody(t *testing.T) {
	pageKit(t)
	d := lived(t)
	w := d.walker(chromium(t), d.linked())
	w.open("/usage")
	w.reads("Tokens by day")
	w.click("button", "By person")
	w.click("link", "Ann")
	w.reads("Known as")
	w.reads("The last thirty days")
	w.click("button", "Erase everything …")
	w.reads("This goes for good and cannot be undone:")
	w.click("button", "Keep it")
	w.click("link", "Log")
	w.click("button", "Errors only")
	w.reads("turn failed")
	if asks[bool](w, `document.body.innerText.includes("session created")`) {
		t.Error("errors only, and the log shows more")
	}
}
