package livetest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent/window"
)

// strict are templates that once refused our conversations: they accept only
// one system message, at the beginning, or only alternating roles.
var strict = []string{
	"Qwen3.5-4B", "Mistral-Small-3.2-24B-Instruct-2506", "mistralai-Mistral-Nemo-Instruct-2407",
	"mistralai-Ministral-3-14B-Reasoning-2512", "Apertus-8B-Instruct", "google-gemma-2-2b-it",
}

// With the strict templates, the test holds whole conversations past their
// first summary with the real server. Presets that want JSON are skipped,
// because the tiny model cannot write it.
func TestStrictTemplates(t *testing.T) {
	needServers(t)
	for _, template := range strict {
		for _, preset := range window.PresetNames() {
			if window.Presets[preset].Format == window.JSON {
				continue
			}
			t.Run(template+"/"+preset, func(t *testing.T) {
				t.Parallel()
				server := serveLlama(t, "-c", "8192", "--chat-template-file", filepath.Join(servers, "llama", "templates", template+".jinja"))
				d := startDaemon(t, fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: tiny, context_window: 8192}\nsummary: {preset: %s}", server, preset))
				converse(d, nil)
				d.allAnswered()
			})
		}
	}
}

// allAnswered checks that each answer is the model's own.
func (d *daemon) allAnswered() {
	d.t.Helper()
	for n, text := range d.answers() {
		if !answered(text) {
			d.t.Errorf("answer %d = %q, want the model's", n, text)
			return
		}
	}
}

func answered(text string) bool { return strings.Contains(text, "Piraeus") }
