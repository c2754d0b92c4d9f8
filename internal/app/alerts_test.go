package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/agent/agenttest"
)

// A model that does not answer is told in the conversation that the
// configuration names, and to a hook, and so is its return.
func TestAlerts(t *testing.T) {
	t.Parallel()
	var well atomic.Bool
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}, Reply: func(*agenttest.Request) agenttest.Reply {
		if !well.Load() {
			return agenttest.StatusReply(401, nil, `{"error": {"message": "no such key, [renew it](http://evil.example)", "code": "invalid_api_key"}}`)
		}
		return nil
	}})
	events := filepath.Join(t.TempDir(), "events")
	program := filepath.Join(t.TempDir(), "note")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec cat >>"+events+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := newPlace(t, "model: {base_url: '"+server.URL()+"', name: main, retries: 0}\n"+
		"alerts: {to: 'web:ops', after: 1s}\n"+
		"hooks: [{on: [model_down, model_back], command: ["+program+"]}]").run()
	said := func(n int, words string) {
		t.Helper()
		r.until(words, func() bool {
			items := r.feed(r.page("ops"))
			return len(items) == n && strings.Contains(items[n-1].Text, words)
		})
	}
	r.ask(r.page(""), "ping")
	said(1, "The model main has not answered since ")
	said(1, "no such key, [renew it](http://evil.example)")
	said(1, ": `HTTP 401: ") // foreign words are code
	well.Store(true)
	r.ask(r.page(""), "ping")
	said(2, "The model answers again. The trouble lasted from ")
	r.until("two events", func() bool {
		text, _ := os.ReadFile(events)
		lines := strings.SplitAfter(string(text), "\n")
		return len(lines) == 3 && strings.Contains(lines[0], `"event":"model_down"`) && strings.Contains(lines[0], `"model":"main"`) &&
			!strings.Contains(lines[0], `"key"`) && strings.Contains(lines[1], `"event":"model_back"`)
	})
}
