package livetest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent/window"
)

// strict are the templates that refused conversations of ours once: they take
// one system message, at the beginning, or roles in turn only.
var strict = []string{
	"Qwen3.5-4B", "Mistral-Small-3.2-24B-Instruct-2506", "mistralai-Mistral-Nemo-Instruct-2407",
	"mistralai-Ministral-3-14B-Reasoning-2512", "Apertus-8B-Instruct", "google-gemma-2-2b-it",
}

// With the strict templates whole conversations are held with the real server,
// past their first summary, and every message is answered. The tiny model
// writes no JSON, so that presets which want it have no summary and no place here.
func TestStrictTemplates(t *testing.T) {
	need(t)
	for _, template := range strict {
		for _, preset := range window.PresetNames() {
			if window.Presets[preset].Format == window.JSON {
				continue
			}
			t.Run(template+"/"+preset, func(t *testing.T) {
				t.Parallel()
				server := serveLlama(t, "-c", "8192", "--chat-template-file", filepath.Join(servers, "llama", "templates", template+".jinja"))
				h := startHouse(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny, context_window: 8192}\nsummary: {preset: %s}", server, preset))
				converse(h, nil)
				h.allAnswered()
			})
		}
	}
}

// allAnswered wants each answer to be the model's own.
func (h *house) allAnswered() {
	h.t.Helper()
	for n, text := range h.said() {
		if !answered(text) {
			h.t.Errorf("answer %d is %q, want the model's", n, text)
			return
		}
	}
}

func answered(text string) bool { return strings.Contains(text, "Piraeus") }
