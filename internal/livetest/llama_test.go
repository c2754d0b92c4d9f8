package livetest_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// The window of llama-server is found without being told, so that a long
// conversation is summarised and none of its requests is refused.
func TestLlamaWindowIsFound(t *testing.T) {
	need(t)
	t.Parallel()
	server := serveLlama(t, "-c", "4096")
	h := startHouse(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny}", server))
	converse(h, nil)
	h.allAnswered()
	if strings.Contains(h.out.String(), "exceeds the available context size") {
		t.Error("the server refused a request as too long; its window was not known")
	}
}

// Told a window that is too large, Dragoman learns the true one from the first
// refusal, and nobody notices.
func TestLlamaWindowIsLearnt(t *testing.T) {
	need(t)
	t.Parallel()
	server := serveLlama(t, "-c", "4096")
	h := startHouse(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny, context_window: 32768}", server))
	converse(h, nil)
	h.allAnswered()
}

// A window of 2048 tokens has no room for all tools, and is enough to talk.
func TestLlamaSmallWindow(t *testing.T) {
	need(t)
	t.Parallel()
	server := serveLlama(t, "-c", "2048")
	h := startHouse(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny}", server))
	for n := range 8 {
		h.ask(fmt.Sprintf("Message %d. %s", n, long))
	}
	h.allAnswered()
}

// A call in the model's own words is run, and answered with its result.
func TestLlamaCallsTools(t *testing.T) {
	need(t)
	t.Parallel()
	server := serveLlama(t, "-c", "8192")
	h := startHouse(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny}", server))
	h.ask("And what time is it?")
	h.allAnswered()
	if out := h.dragoman("sessions", "export", "telegram:71"); !strings.Contains(out, `"role":"tool"`) {
		t.Errorf("no tool was run:\n%s", out)
	}
}

// A server that is killed in the middle of an answer is waited for, and its
// answer is given once.
func TestLlamaKilledInAnAnswer(t *testing.T) {
	need(t)
	t.Parallel()
	address := freePort(t)
	kill := serveLlamaAt(t, address, "-c", "131072")
	h := startHouse(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny, context_window: 16384}", address))
	h.ask("Are you there?") // a model's first answer has no preview
	h.tell("Please sail on.")
	testkit.Eventually(t, "a preview", func() bool { return len(h.api.FromBot(ada.ID)) > 1 })
	kill()
	testkit.Eventually(t, "the loss to be noticed", func() bool { return strings.Contains(h.out.String(), "the turn is postponed") })
	serveLlamaAt(t, address, "-c", "16384", "-n", "40")
	if text := h.next(1); !strings.Contains(text, "ferry sails") {
		t.Errorf("the bot says %q, want the model's answer", text)
	}
	if got := h.ask("Are you back?"); !answered(got) {
		t.Errorf("after that the bot says %q", got)
	}
	if n := len(h.api.FromBot(ada.ID)); n != 3 {
		t.Errorf("the chat shows %d messages of the bot, want 3: %q", n, h.api.FromBot(ada.ID))
	}
}
