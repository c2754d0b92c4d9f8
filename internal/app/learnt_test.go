package app_test

import (
	"os"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
)

// What a server refused once it is not asked for again, also not after a
// restart; another configuration of the model forgets it.
func TestLearntOverRestarts(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"m"}, Reply: func(r *agenttest.Request) agenttest.Reply {
		if len(r.Tools) > 0 {
			return agenttest.StatusReply(400, nil, `{"error": {"message": "m does not support tools"}}`)
		}
		return nil
	}})
	p := newPlace(t, "model: {base_url: '"+server.URL()+"', name: m}")
	ask := func(text string, calls int) {
		t.Helper()
		before := len(server.Requests())
		r := p.run()
		if got := r.ask(r.page(""), text); !strings.Contains(got, "echo: "+text) {
			t.Errorf("the answer = %q", got)
		}
		r.stop()
		if got := len(server.Requests()) - before; got != calls {
			t.Errorf("%q took %d calls, want %d", text, got, calls)
		}
	}
	ask("one", 2)
	kept, err := os.ReadFile(p.state("models.json"))
	if err != nil || !strings.Contains(string(kept), "tools=no") || strings.Contains(string(kept), "one") {
		t.Errorf("what was learnt is kept as %s, %v", kept, err)
	}
	ask("two", 1)
	p.write("model: {base_url: '" + server.URL() + "', name: m, retries: 1}")
	ask("three", 2)
	if err := os.WriteFile(p.state("models.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask("four", 2)
}
