package livetest_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// Dragoman finds llama-server's window by itself, so that a long conversation
// is summarised and no request is refused.
func TestLlamaWindowIsFound(t *testing.T) {
	needServers(t)
	t.Parallel()
	server := serveLlama(t, "-c", "4096")
	d := startDaemon(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny}", server))
	converse(d, nil)
	d.allAnswered()
	if strings.Contains(d.out.String(), "exceeds the available context size") {
		t.Error("the server refused a request as too long, so its window was not known")
	}
}

// If the configured window is too large, Dragoman learns the real one from the
// first refusal, and every message is still answered.
func TestLlamaWindowIsLearned(t *testing.T) {
	needServers(t)
	t.Parallel()
	server := serveLlama(t, "-c", "4096")
	d := startDaemon(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny, context_window: 32768}", server))
	converse(d, nil)
	d.allAnswered()
}

// A window of 2048 tokens has no room for all tools, but enough for a
// conversation.
func TestLlamaSmallWindow(t *testing.T) {
	needServers(t)
	t.Parallel()
	server := serveLlama(t, "-c", "2048")
	d := startDaemon(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny}", server))
	for n := range 8 {
		d.ask(fmt.Sprintf("Message %d. %s", n, long))
	}
	d.allAnswered()
}

// A call in the model's own format is run and answered.
func TestLlamaCallsTools(t *testing.T) {
	needServers(t)
	t.Parallel()
	server := serveLlama(t, "-c", "8192")
	d := startDaemon(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny}", server))
	d.ask("And what time is it?")
	d.allAnswered()
	if out := d.dragoman("sessions", "export", "telegram:71"); !strings.Contains(out, `"role":"tool"`) {
		t.Errorf("no tool was run:\n%s", out)
	}
}

// If the server is killed during an answer, Dragoman waits for it and answers
// once.
func TestLlamaKilledDuringAnswer(t *testing.T) {
	needServers(t)
	t.Parallel()
	address := freePort(t)
	kill := serveLlamaAt(t, address, "-c", "131072")
	d := startDaemon(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny, context_window: 16384}", address))
	d.ask("Are you there?") // a model's first answer has no preview
	d.write("Please sail on.")
	testkit.Eventually(t, "a preview", func() bool { return len(d.api.FromBot(ada.ID)) > 1 })
	kill()
	testkit.Eventually(t, "the loss to be noticed", func() bool { return strings.Contains(d.out.String(), "the turn is postponed") })
	serveLlamaAt(t, address, "-c", "16384", "-n", "40")
	if text := d.next(1); !strings.Contains(text, "ferry sails") {
		t.Errorf("answer = %q, want the model's", text)
	}
	if got := d.ask("Are you back?"); !answered(got) {
		t.Errorf("the next answer is %q, want the model's", got)
	}
	if n := len(d.api.FromBot(ada.ID)); n != 3 {
		t.Errorf("the chat has %d messages of the bot, want 3: %q", n, d.api.FromBot(ada.ID))
	}
}
