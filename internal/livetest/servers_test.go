package livetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/livetest/tinymodel"
	"dragoman/internal/testkit"
)

// binary is the program under test, servers the folder with the model servers,
// and model the tiny model's file. TestMain sets them.
var binary, servers, model string

// figures are printed in the last line.
var figures struct {
	sync.Mutex
	templates, presets, bodies, passed, learned, refused int
}

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	began := time.Now()
	servers = os.Getenv("DRAGOMAN_MODELS")
	if servers == "" {
		return m.Run() // each test skips
	}
	dir, err := os.MkdirTemp("", "dragoman-models")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary, model = filepath.Join(dir, "dragoman"), filepath.Join(dir, "tiny.gguf")
	build := exec.Command("go", "build", "-o", binary, "dragoman/cmd/dragoman")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	if err := writeModel(model); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	f := &figures
	line := fmt.Sprintf("test-models: %d templates x %d presets, %d requests: %d of %d pairs passed (%d after a lesson), %d refusals, %.0f s\n",
		f.templates, f.presets, f.bodies, f.passed, f.templates*f.presets, f.learned, f.refused, time.Since(began).Seconds())
	if err := os.WriteFile(filepath.Join(servers, "figures"), []byte(line), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// needServers skips the test if there are no model servers.
func needServers(t *testing.T) {
	t.Helper()
	if servers == "" {
		t.Skip("needs llama-server and Ollama: make test-models")
	}
	testkit.Sources(t)
}

// The tiny model's texts. It gives the same answer to every request, also for a
// summary. After a prompt that ends with [callToken] it calls a tool, and after
// [endlessToken] it repeats one sentence without end.
const (
	callToken    = "<|call|>"
	endlessToken = "<|endless|>"

	answer = "## Goal\nAda plans a journey by ferry from Piraeus to Naxos in June with her brother Tom.\n" +
		"## Critical context\nThe harbour office opens at seven, tickets cost forty euros, and the cabin is booked for two nights."
	toolCall = "<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>"
)

// toolTemplateJinja is our own chat template. It makes the model call a tool if
// asked for the time, and answer after the result. Asked to sail on, the model
// writes without end.
const toolTemplateJinja = `{%- if tools %}{{- '<|im_start|>system\n' }}{%- if messages[0].role == 'system' %}{{- messages[0].content + '\n\n' }}{%- endif %}
{{- '# Tools\n<tools>' }}{%- for tool in tools %}{{- '\n' }}{{- tool | tojson }}{%- endfor %}{{- '\n</tools>\nFor each call, return a json object within <tool_call></tool_call>:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n' }}
{%- elif messages[0].role == 'system' %}{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or message.role == 'system' and not loop.first %}{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- elif message.role == 'assistant' %}{{- '<|im_start|>assistant' }}{%- if message.content %}{{- '\n' + message.content }}{%- endif %}
{%- for call in message.tool_calls %}{{- '\n<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}{{- call.function.arguments | tojson }}{{- '}\n</tool_call>' }}{%- endfor %}{{- '<|im_end|>\n' }}
{%- elif message.role == 'tool' %}{{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- if tools and messages[-1].role == 'user' and 'what time' in messages[-1].content %}{{- '` + callToken + `' }}{%- elif 'sail on' in messages[-1].content %}{{- '` + endlessToken + `' }}{%- endif %}{%- endif %}`

func writeModel(path string) error {
	var corpus strings.Builder
	for _, name := range []string{"LICENSE", "README.md", "docs/internals/architecture.md", "docs/sessions.md"} {
		b, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			return err
		}
		corpus.Write(b)
	}
	m := tinymodel.Model{
		Name: "tiny", Corpus: corpus.String(), Context: 131072, Template: toolTemplateJinja,
		Control: []string{"<|im_start|>", "<|im_end|>"},
		Lines: []tinymodel.Line{
			{After: tinymodel.Any, Say: answer},
			{After: callToken, Say: toolCall},
			{After: endlessToken, Say: "The ferry sails on and on, past every island there is. ", Then: endlessToken},
			// The templates of reasoning models write the start of the thoughts.
			{After: "<think>\n", Say: "The person wants to hear about the journey.\n</think>\n\n", Then: tinymodel.Any},
		},
	}
	b, err := m.Bytes()
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

// serveLlama starts llama-server with the tiny model and args, and returns its
// address.
func serveLlama(t *testing.T, args ...string) (address string) {
	t.Helper()
	address = freePort(t)
	_ = serveLlamaAt(t, address, args...)
	return address
}

// serveLlamaAt starts llama-server at address, and returns a function that
// kills it.
func serveLlamaAt(t *testing.T, address string, args ...string) (kill func()) {
	t.Helper()
	_, port, _ := net.SplitHostPort(address)
	// On a busy machine, two threads would wait for each other.
	all := append([]string{"-m", model, "--host", "127.0.0.1", "--port", port, "--jinja", "--parallel", "1", "-t", "1", "--no-webui", "--cache-ram", "0"}, args...)
	cmd := run(t, &testkit.Output{}, os.Environ(), filepath.Join(servers, "llama", "llama-server"), all...)
	testkit.Eventually(t, "llama-server to be ready", func() bool {
		code, _ := get(t, "http://"+address+"/health")
		return code == http.StatusOK
	})
	return func() { _ = cmd.Process.Kill() }
}

// serveOllama starts Ollama without models.
func serveOllama(t *testing.T, env ...string) (address string) {
	t.Helper()
	address = freePort(t)
	env = append([]string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "OLLAMA_HOST=" + address}, env...)
	run(t, &testkit.Output{}, env, filepath.Join(servers, "ollama", "ollama"), "serve")
	testkit.Eventually(t, "Ollama to be ready", func() bool {
		code, _ := get(t, "http://"+address+"/api/version")
		return code == http.StatusOK
	})
	return address
}

// createOllama adds the tiny model under a name, with more lines of its
// Modelfile.
func createOllama(t *testing.T, address, name, more string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "Modelfile")
	if err := os.WriteFile(file, []byte("FROM "+model+"\nPARAMETER num_thread 1\n"+more+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(servers, "ollama", "ollama"), "create", name, "-f", file)
	cmd.Env = []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "OLLAMA_HOST=" + address}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("ollama create %s: %v\n%s", name, err, out)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var client = &http.Client{Timeout: answerTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

// get returns the status and body of a page; the status is 0 if there is no
// answer.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	return send(t, http.MethodGet, url, nil)
}

func send(t *testing.T, method, url string, body []byte) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

// errorMessage returns the message in an error's body. Of a template's error it
// returns the last line, which names the cause.
func errorMessage(body string) string {
	var e struct {
		Error struct{ Message string }
	}
	if json.Unmarshal([]byte(body), &e) != nil || e.Error.Message == "" {
		return body
	}
	lines := strings.Split(strings.TrimSpace(e.Error.Message), "\n")
	return lines[len(lines)-1]
}
