package app_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
)

// Whoever runs Dragoman makes, changes, pauses and cancels a reminder of theirs by the API.
// Others who may only chat see nothing of it.
func TestRemindersByTheAPI(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "http: {listen: '127.0.0.1:0', token: "+pageToken+"}").run()
	ctx := t.Context()
	made, err := api.MakeReminder.Call(ctx, r.admin, api.NewReminder{Key: channels.MustKey("web:default"), Text: "Water the tomatoes", In: "2h"})
	if err != nil || !made.Own || !made.Reminder || made.Text != "Water the tomatoes" || len(made.Upcoming) != 1 {
		t.Fatalf("MakeReminder = %+v, %v", made, err)
	}
	changed, err := api.ChangeReminder.Call(ctx, r.admin, api.ReminderChange{Name: made.Name, Text: "Water the beans", In: "30h"})
	if err != nil || changed.Text != "Water the beans" || time.Until(changed.Next) < 29*time.Hour || len(changed.Upcoming) != 0 {
		t.Errorf("ChangeReminder = %+v, %v", changed, err)
	}
	if err := api.PauseJob.Call(ctx, r.admin, api.JobName{Name: made.Name}); err != nil {
		t.Fatal(err)
	}
	list, err := api.ListJobs.Call(ctx, r.admin, api.JobQuery{Kind: "reminder", Text: "beans"})
	if err != nil || len(list.Data) != 1 || list.Data[0].Paused != "operator paused it" {
		t.Errorf("ListJobs = %+v, %v; want one that is paused", list, err)
	}
	if err := api.ResumeJob.Call(ctx, r.admin, api.JobName{Name: made.Name}); err != nil {
		t.Fatal(err)
	}
	if err := api.CancelReminder.Call(ctx, r.admin, api.JobName{Name: made.Name}); err != nil {
		t.Fatal(err)
	}
	list, err = api.ListJobs.Call(ctx, r.admin, api.JobQuery{})
	if err != nil || len(list.Data) != 0 {
		t.Errorf("ListJobs = %+v, %v; want none", list, err)
	}
	back, err := api.RestoreReminder.Call(ctx, r.admin, api.JobName{Name: made.Name})
	if err != nil || back.Next.IsZero() || back.Paused != "" {
		t.Errorf("RestoreReminder = %+v, %v", back, err)
	}

	token := r.token("other", "telegram:1", "chat")
	var none api.Page[api.Job]
	if no := r.request("GET", api.Root+"/jobs", token, "", &none); no != nil || len(none.Data) != 0 {
		t.Errorf("GET /jobs of somebody else = %+v, %v; want none", none, no)
	}
	address := api.Root + "/reminders/" + url.PathEscape(made.Name)
	if no := r.request("DELETE", address, token, "", nil); no == nil || no.Status != http.StatusNotFound {
		t.Errorf("DELETE %s of somebody else = %v, want 404", address, no)
	}
}

// A paused job says who paused it, and nothing of it comes, until somebody resumes it; also
// after a restart.
func TestAPausedJob(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "heartbeat: {jobs: [{name: look, every: 1h, target: 'web:default', prompt: look}]}").run()
	is := func(paused string, comes bool) {
		t.Helper()
		r.until("the list to say so", func() bool {
			list, err := api.ListJobs.Call(t.Context(), r.admin, api.JobQuery{})
			return err == nil && len(list.Data) == 1 && list.Data[0].Paused == paused && (len(list.Data[0].Upcoming) > 0) == comes
		})
	}
	is("", true)
	if err := api.PauseJob.Call(t.Context(), r.admin, api.JobName{Name: "look"}); err != nil {
		t.Fatal(err)
	}
	is("operator paused it", false)
	r.stop()
	r = r.place.run()
	is("operator paused it", false)
	if err := api.ResumeJob.Call(t.Context(), r.admin, api.JobName{Name: "look"}); err != nil {
		t.Fatal(err)
	}
	is("", true)
}
