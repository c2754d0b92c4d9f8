package app_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/live"
	"dragoman/internal/api"
)

// scheduled runs a daemon whose model, after the person's message, schedules args and says
// ok.
func scheduled(t *testing.T, args string, more ...agenttest.Reply) (*running, *agenttest.Server) {
	t.Helper()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"m"}})
	p := newPlace(t, "model: {type: openai, base_url: '"+server.URL()+"', name: m}\nagent: {time_zone: Europe/Berlin}")
	server.Next(agenttest.ToolReply(agenttest.ToolDelta{ID: "c1", Name: "schedule", Arguments: args}), agenttest.TextReply("ok"))
	server.Next(more...)
	return p.run(), server
}

// arrives waits for text in the page. On a busy machine it may come before an answer that was
// begun earlier.
func (r *running) arrives(text string) {
	r.t.Helper()
	page := r.page("")
	r.until(text+" to arrive", func() bool {
		return slices.ContainsFunc(r.feed(page), func(it live.Item) bool { return it.Text == text && it.State == "sent" })
	})
}

// What a model schedules arrives, without another call of it, and the operator sees that it
// was delivered.
func TestAReminderArrives(t *testing.T) {
	t.Parallel()
	r, server := scheduled(t, `{"text":"call Ann","in":"1s"}`)
	if got := r.ask(r.page(""), "Remind me to call Ann in a second"); got != "ok" && got != "call Ann" {
		t.Errorf("the person reads %q", got)
	}
	r.arrives("call Ann")
	r.until("the model's second request", func() bool { return server.Count() == 2 })
	requests := server.Requests()
	messages := requests[len(requests)-1].Messages
	if said := messages[len(messages)-1].Content; !strings.HasPrefix(said, "Reminder r1: ") || !strings.Contains(said, "(Europe/Berlin), ") {
		t.Errorf("the tool says %q", said)
	}
	list, err := api.ListOccurrences.Call(t.Context(), r.admin, api.JobLimited{Limit: 10})
	if err != nil || len(list.Data) != 1 || list.Data[0].Outcome != "ran" || !strings.HasSuffix(list.Data[0].Job, "/r1") {
		t.Errorf("ListOccurrences = %+v, %v; want that it ran", list, err)
	}
	r.ask(r.page(""), "thanks")
	messages = server.Requests()[2].Messages
	if said := messages[len(messages)-2].Content + messages[len(messages)-1].Content; !strings.Contains(said, "The reminder r1 came due") {
		t.Errorf("the model does not know what came due: %q", said)
	}
}

// A prompt is answered when it is due, without the conversation.
func TestAScheduledPrompt(t *testing.T) {
	t.Parallel()
	r, server := scheduled(t, `{"prompt":"tell the news","in":"1s"}`, agenttest.TextReply("no news"))
	r.ask(r.page(""), "Tell me the news in a second")
	r.arrives("no news")
	last := server.Requests()[2].Messages
	if len(last) != 2 || !strings.Contains(last[1].Content, "tell the news") {
		t.Errorf("the model was asked %+v, want the prompt alone", last)
	}
}

// A reminder is there after a restart, and operators see it without its words.
func TestAReminderOutlivesARestart(t *testing.T) {
	t.Parallel()
	r, _ := scheduled(t, `{"text":"call Ann","in":"2s"}`)
	r.ask(r.page(""), "Remind me to call Ann")
	list, err := api.ListJobs.Call(t.Context(), r.admin, api.JobQuery{})
	if err != nil || len(list.Data) != 1 || list.Data[0].Schedule != "once" || list.Data[0].Target != "web:default" || list.Data[0].Next.IsZero() {
		t.Errorf("ListJobs = %+v, %v; want the reminder", list, err)
	}
	r.stop()
	time.Sleep(2 * time.Second)
	r = r.place.run()
	r.arrives("call Ann")
	list, err = api.ListJobs.Call(t.Context(), r.admin, api.JobQuery{})
	if err != nil || len(list.Data) != 0 {
		t.Errorf("ListJobs = %+v, %v; want none: it is done", list, err)
	}
}

// Whoever may no longer talk has no reminders, and the operator sees why.
func TestAReminderIsPaused(t *testing.T) {
	t.Parallel()
	r, _ := scheduled(t, `{"text":"call Ann","in":"2s"}`)
	r.ask(r.page(""), "Remind me to call Ann")
	r.stop()
	text, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "channels: {web: {type: web, allow: []}}\n"...)
	if err := os.WriteFile(r.path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r = r.place.run()
	r.until("the reminder to be paused", func() bool {
		list, err := api.ListJobs.Call(t.Context(), r.admin, api.JobQuery{})
		return err == nil && len(list.Data) == 1 && list.Data[0].Paused != ""
	})
	for _, it := range r.feed(r.page("")) {
		if it.Text == "call Ann" {
			t.Error("it was delivered")
		}
	}
}
