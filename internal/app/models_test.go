package app_test

import (
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/api"
)

// A chat has the model that its channel names for it, the longest pattern
// first, unless the conversation has one of its own. SIGHUP changes that.
func TestModelsOfChats(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main", "small", "large", "own"}})
	config := func(models string) string {
		return "model: {base_url: '" + server.URL() + "', name: main, context_window: 50000}\n" +
			"channels: {web: {type: web, allow: ['*'], models: " + models + "}}"
	}
	p := newPlace(t, config(`{"Go*": large, "*": small}`))
	r := p.run()
	n := 0
	asked := func(room, want string) {
		t.Helper()
		n++
		r.ask(r.page(room), "hello")
		var models []string
		for _, q := range server.Requests() {
			if len(q.Messages) > 0 {
				models = append(models, q.Model)
			}
		}
		if len(models) != n || models[n-1] != want {
			t.Errorf("%s is answered by the last of %q, want %s", room, models, want)
		}
	}
	asked("golang", "large")
	asked("tea", "small")
	own := "own"
	if _, err := api.Configure.Call(t.Context(), r.admin, api.Change{Key: channels.MustKey("web:tea"), Model: &own}); err != nil {
		t.Fatal(err)
	}
	asked("tea", "own")
	if page := r.scrape(""); metric(page, `model_calls_total{model="large",outcome="ok"}`) != 1 || metric(page, `model_calls_total{model="other",outcome="ok"}`) != 1 {
		t.Error("the metrics do not know large, or know own, which nobody configured")
	}
	p.write(config(`{"golang": small}`))
	r.reload("reloaded")
	asked("golang", "small")
	asked("default", "main")
	if log := r.log.String(); strings.Contains(log, "need a restart") {
		t.Errorf("models of chats need a restart:\n%s", log)
	}
}
