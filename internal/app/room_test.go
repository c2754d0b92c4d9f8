package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// TestStartTellsOfLittleRoom: who wrote a long prompt for a small model learns
// of it from the start, and not from their first message.
func TestStartTellsOfLittleRoom(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		words int
		tools string
		want  string
	}{
		"room enough":  {10, "[time]", ""},
		"little room":  {1300, "[time]", "leave little room in the model's window"},
		"too long":     {4000, "[]", "do not fit the model's window"},
		"all tools do": {10, "[time, read_file, write_file, list_dir, web_fetch, remember, recall, forget, search_history]", "has no room for all tools"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newPlace(t, fmt.Sprintf("model: {context_window: 2048}\nagent: {tools: %s, system_prompt: %q}", test.tools, strings.Repeat("kind ", test.words))).run()
			r.stop()
			log := r.log.String()
			if said := strings.Contains(log, "the instructions and tools") || strings.Contains(log, "the model's window has"); said != (test.want != "") || !strings.Contains(log, test.want) {
				t.Errorf("the log lacks %q, or says it without need:\n%s", test.want, log)
			}
			if strings.Contains(log, "kind kind") {
				t.Error("the log has words of the prompt")
			}
		})
	}
}

// Of a model without tools the owner is told once, and that is all: room for
// tools is not what it lacks.
func TestStartTellsOfAModelWithoutTools(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data": [{"id": "m", "context_length": 32768, "supported_parameters": ["temperature"]}]}`)
	}))
	defer server.Close()
	r := newPlace(t, "model: {base_url: '"+server.URL+"/v1', name: m}").run()
	const told = "the model cannot call tools"
	testkit.Eventually(t, "the word about tools", func() bool { return strings.Contains(r.log.String(), told) })
	r.stop()
	if log := r.log.String(); strings.Count(log, told) != 1 || strings.Contains(log, "no room for all tools") {
		t.Errorf("the log does not say just once that the model has no tools:\n%s", log)
	}
}
