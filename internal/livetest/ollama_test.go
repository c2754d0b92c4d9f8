package livetest_test

import (
	"fmt"
	"strings"
	"testing"
)

// Templates like those of Ollama's models. Only the second can call tools.
const (
	plainTemplate = `TEMPLATE """{{ range .Messages }}<|im_start|>{{ .Role }}
{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
"""`
	toolTemplate = `TEMPLATE """{{ $last := "" }}{{ if .Tools }}<|im_start|>system
# Tools
{{ range .Tools }}{"type": "function", "function": {{ .Function }}}
{{ end }}For each call, return a json object within <tool_call></tool_call>.<|im_end|>
{{ end }}{{ range .Messages }}{{ $last = .Role }}<|im_start|>{{ if eq .Role "tool" }}user
<tool_response>
{{ .Content }}
</tool_response>{{ else }}{{ .Role }}
{{ .Content }}{{ range .ToolCalls }}<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>{{ end }}{{ end }}<|im_end|>
{{ end }}<|im_start|>assistant
{{ if and .Tools (eq $last "user") }}` + callToken + `{{ end }}"""`
)

func ollamaModel(address, name string) string {
	return fmt.Sprintf("model: {type: openai, base_url: 'http://%s/v1', name: %s}", address, name)
}

// A model that cannot call tools still answers, both found at OLLAMA_HOST and
// named in the configuration.
func TestOllamaWithoutTools(t *testing.T) {
	needServers(t)
	t.Parallel()
	address := serveOllama(t)
	createOllama(t, address, "plain", plainTemplate)
	for name, config := range map[string]string{"found": "", "configured": ollamaModel(address, "plain")} {
		t.Run(name, func(t *testing.T) {
			d := startDaemon(t, config, "OLLAMA_HOST="+address)
			for n := range 4 {
				d.ask(fmt.Sprintf("Message %d. %s", n, long))
			}
			d.allAnswered()
		})
	}
}

// The calls of a model with tools are run.
func TestOllamaWithTools(t *testing.T) {
	needServers(t)
	t.Parallel()
	address := serveOllama(t)
	createOllama(t, address, "plain", plainTemplate)
	createOllama(t, address, "able", toolTemplate)
	// Of two models, Dragoman chooses the one with tools.
	d := startDaemon(t, "", "OLLAMA_HOST="+address)
	d.ask("And what time is it?")
	d.allAnswered()
	if out := d.dragoman("sessions", "export", "telegram:71"); !strings.Contains(out, `"role":"tool"`) {
		t.Errorf("no tool was run:\n%s", out)
	}
}

// Ollama silently cuts requests that exceed its window. Dragoman finds the
// window wherever it is set, or notices the cut, and summarises in time.
func TestOllamaWindow(t *testing.T) {
	needServers(t)
	t.Parallel()
	for _, c := range []struct{ name, modelfile, serve string }{
		{"default", plainTemplate, "OLLAMA_CONTEXT_LENGTH=4096"},
		{"environment", plainTemplate, "OLLAMA_CONTEXT_LENGTH=6144"},
		{"num_ctx", plainTemplate + "\nPARAMETER num_ctx 5120", "OLLAMA_CONTEXT_LENGTH=4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address := serveOllama(t, c.serve)
			createOllama(t, address, "plain", c.modelfile)
			// Tools would fill the window, and this test does not need them.
			d := startDaemon(t, ollamaModel(address, "plain")+"\nagent: {tools: []}")
			converse(d, nil)
			d.allAnswered()
		})
	}
}
