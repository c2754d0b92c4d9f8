package app_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"dragoman/internal/api"
	"dragoman/internal/app"
)

// A daemon says what is on, and of what it should do and cannot, why. Anybody who may read
// its state sees the same on the page.
func TestFeatures(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root is always refused the sandbox")
	}
	r := newPlace(t, `
exec: {enabled: true}
hearing: {url: "http://127.0.0.1:9/v1"}
web_search: {engine: brave, api_key: secret-4711}
drawing: {url: "http://127.0.0.1:9/v1", model: sketch, api_key: secret-4711}
`).run()
	report, err := api.ReadHealth.Call(t.Context(), r.admin, api.None{})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, f := range report.Status.Features {
		said[f.Name] = string(f.State) + ", " + f.Says
	}
	for name, want := range map[string]string{
		"exec":       "failing, the model is not offered commands: Dragoman runs as root",
		"drawing":    "on, pictures are drawn by sketch at 127.0.0.1:9",
		"hearing":    "on, voice messages are written down by whisper-1 at 127.0.0.1:9",
		"web_search": "on, questions go to brave",
	} {
		if !strings.HasPrefix(said[name], want) || strings.Contains(said[name], "4711") {
			t.Errorf("%s: %q, want %q", name, said[name], want)
		}
	}
}

// What the model can do beyond its chat says so, and why it cannot.
func TestFeaturesBeyondTheChat(t *testing.T) {
	t.Parallel()
	said := func(text string) string {
		var lines []string
		for _, f := range app.Features(newPlace(t, text).config()) {
			if f.Name == "delegate" || f.Name == "send_message" {
				lines = append(lines, fmt.Sprintf("%s %s, %s", f.Name, f.State, f.Says))
			}
		}
		return strings.Join(lines, "\n")
	}
	const routes = "\nroutes: [{from: 'web:books', to: 'web:bob', name: Bob}]"
	two := "\nchannels: {irc: {server: 127.0.0.1:1, tls: false, nick: d, allow: ['*']}, libera: {type: irc, server: 127.0.0.1:1, tls: false, nick: e, allow: ['*']}}"
	for text, want := range map[string]string{
		"": "delegate off, the model has no helpers: set agent.delegate.enabled\n" +
			"send_message off, the model cannot write to other chats: set routes, or connect a second network",
		"agent: {delegate: {enabled: true}}" + routes: "delegate on, helpers with the model that answers do tasks, each with at most 20 steps, 200000 tokens and 5m\n" +
			"send_message on, the model writes to other chats when somebody asks it to, on 1 of the configuration's routes",
		"agent: {tools: [time], delegate: {enabled: true}}" + routes + two: "delegate off, the model is not offered it: agent.tools leaves it out\n" +
			"send_message off, the model is not offered it: agent.tools leaves it out",
		"agent: {tools: {web_fetch: allow}}" + two: "delegate off, the model has no helpers: set agent.delegate.enabled\n" +
			"send_message on, the model writes to other chats when somebody asks it to, to people's own chats on irc, libera",
	} {
		if got := said(text); got != want {
			t.Errorf("with %q:\n%s\nwant\n%s", text, got, want)
		}
	}
}
