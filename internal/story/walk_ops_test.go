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
