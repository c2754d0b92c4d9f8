package app_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels/live"
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

// The first answer of a model is shown when it is whole. How it begins is known
// after that, also after a restart, so that the next one is shown while it grows.
func TestHabitsOverRestarts(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"m"}, Reply: func(r *agenttest.Request) agenttest.Reply {
		return func(x *agenttest.Exchange) {
			x.Text("This is ", "the beginning ")
			x.Flush()
			if strings.Contains(r.LastUser(), "two") {
				select {
				case <-seen:
				case <-t.Context().Done():
				}
			}
			x.Text("and the end.")
			x.End("stop")
		}
	}})
	p := newPlace(t, "model: {base_url: '"+server.URL()+"', name: m}")
	ask := func(text string, grows func(string)) {
		t.Helper()
		r := p.run()
		defer r.stop()
		page := r.page("")
		ctx, leave := context.WithCancel(t.Context())
		reading, attached := make(chan error, 1), make(chan struct{})
		var once sync.Once
		go func() {
			reading <- page.Events(ctx, -1, func(e live.Event) {
				once.Do(func() { close(attached) })
				if e.Preview != nil && e.Preview.Text != "" {
					grows(e.Preview.Text)
				}
			})
		}()
		<-attached
		if got := r.ask(page, text); got != "This is the beginning and the end." {
			t.Errorf("the answer = %q", got)
		}
		leave()
		<-reading
	}
	ask("one", func(text string) { t.Errorf("of the first answer people see %q before its end", text) })
	if kept, err := os.ReadFile(p.state("models.json")); err != nil || !strings.Contains(string(kept), `"m": false`) {
		t.Errorf("what was learnt is kept as %s, %v", kept, err)
	}
	var once sync.Once
	ask("two", func(string) { once.Do(func() { close(seen) }) })
}
