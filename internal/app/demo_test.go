package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
)

// used lists the tools that were called in a room of the page, in order.
func (r *running) used(room string) []string {
	r.t.Helper()
	list, err := api.ReadMessages.Call(r.t.Context(), r.admin, api.Part{Key: channels.MustKey("web:" + room), Limit: 200, After: "0"})
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, m := range list.Data {
		for _, call := range m.ToolCalls {
			names = append(names, call.Name)
		}
	}
	return names
}

// A newcomer tries what the demo's help offers. Each sentence must reach the
// real tool, and the answer must show what it did.
func TestDemoReachesEveryTool(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "queue: {rate_per_minute: 0}").run()
	page := r.page("default")
	for _, step := range []struct {
		say, tool string
		want      []string
		check     func()
	}{
		{"what time is it?", "time", []string{time.Now().Format("2006")}, nil},
		{"what time is it in Europe/Rome?", "time", []string{"Europe/Rome"}, nil},
		{"write “buy bread” to shopping.txt", "write_file", []string{"shopping.txt"}, func() {
			got, err := os.ReadFile(filepath.Join(r.dir, "state", "workspace", "shopping.txt"))
			if err != nil || string(got) != "buy bread\n" {
				t.Errorf("shopping.txt = %q, %v", got, err)
			}
		}},
		{"list files", "list_dir", []string{"shopping.txt"}, nil},
		{"read shopping.txt", "read_file", []string{"buy bread"}, nil},
		{"read missing.txt", "read_file", []string{"missing.txt"}, nil},
		{"remember that my bicycle is green", "remember", []string{"my bicycle is green"}, nil},
		{"what do you remember about my bicycle?", "recall", []string{"#1", "my bicycle is green"}, nil},
		{"forget #1", "forget", []string{"Forgot #1"}, nil},
		{"what do you remember?", "recall", []string{"I remember nothing"}, nil},
		{"search our conversation for bread", "search_history", []string{"buy bread"}, nil},
		{"fetch http://127.0.0.1/admin", "web_fetch", []string{"not allowed"}, nil},
	} {
		before := len(r.used("default"))
		got := r.ask(page, step.say)
		for _, want := range step.want {
			if !strings.Contains(got, want) {
				t.Errorf("%q is answered %q, want %q in it", step.say, got, want)
			}
		}
		if used := r.used("default")[before:]; len(used) != 1 || used[0] != step.tool {
			t.Errorf("%q calls %q, want %s once", step.say, used, step.tool)
		}
		if step.check != nil {
			step.check()
		}
	}
	if answer := r.ask(page, "help"); !strings.Contains(answer, "“connect") && !strings.Contains(answer, "Connect a real model") {
		t.Errorf("help = %q", answer)
	}
}

// Facts belong to the person: they are known in another room, after /new, and
// after a restart.
func TestFactsOutliveTheConversation(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	r := p.run()
	r.ask(r.page("kitchen"), "remember that the oven is broken")
	r.ask(r.page("kitchen"), "/new")
	r.stop()
	r = p.run()
	for _, room := range []string{"kitchen", "garden"} {
		if got := r.ask(r.page(room), "what do you remember?"); !strings.Contains(got, "the oven is broken") {
			t.Errorf("in the %s it remembers %q", room, got)
		}
	}
}

// agent.tools takes tools away from the model.
func TestOnlyTheAllowedTools(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "agent: {tools: [time]}").run()
	page := r.page("default")
	r.ask(page, "write “buy bread” to shopping.txt")
	r.ask(page, "what time is it?")
	if got := strings.Join(r.used("default"), " "); got != "time" {
		t.Errorf("tools used = %q, want only the time", got)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "state", "workspace", "shopping.txt")); !os.IsNotExist(err) {
		t.Errorf("the file was written all the same: %v", err)
	}
}
