package app_test

import (
	"strings"
	"testing"

	"dragoman/agent/agenttest"
)

// While the configured model cannot answer another one does, and status tells
// what is wrong with the first.
func TestFallback(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main", "spare"}, Reply: func(r *agenttest.Request) agenttest.Reply {
		if r.Model == "main" {
			return agenttest.StatusReply(503, nil, `{"error": {"message": "overloaded"}}`)
		}
		return nil
	}})
	r := newPlace(t, "model: {base_url: '"+server.URL()+"', name: main, fallback: [spare], retries: 0}").run()
	if got := r.ask(r.page(""), "ping"); !strings.Contains(got, "echo: ping") {
		t.Errorf("the answer = %q", got)
	}
	s := r.status()
	if s.Model != "main" || s.ModelTrouble == nil || len(s.OtherTroubles) > 0 {
		t.Errorf("status tells of %s, %+v, %+v", s.Model, s.ModelTrouble, s.OtherTroubles)
	}
	if last := server.Requests(); last[len(last)-1].Model != "spare" {
		t.Errorf("the last request was to %s", last[len(last)-1].Model)
	}
}
