package story_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// aimock is where .ci/aimock/install puts it.
const aimock = "../../.cache/aimock/node_modules/@copilotkit/aimock/dist/cli.js"

// script is what aimock says: it thinks, calls a tool, and says what it heard.
const script = `{"fixtures": [
	{"match": {"userMessage": "hello #1"}, "response": {"content": "good morning #1", "reasoning": "they greet me"}},
	{"match": {"userMessage": "the time #2", "hasToolResult": false}, "response": {"reasoning": "a clock helps", "toolCalls": [
		{"name": "time", "arguments": "{}"}, {"name": "list_dir", "arguments": "{\"path\": \".\"}"}]}},
	{"match": {"userMessage": "the time #2", "hasToolResult": true}, "response": {"content": "it is late #2"}},
	{"match": {"userMessage": "goodbye #3"}, "response": {"content": "farewell #3"}}]}`

// Somebody else's model server, which writes each API as its provider does: the
// program speaks all of them with it.
func TestAIMock(t *testing.T) {
	node := testkit.Need(t, "node")
	if version, err := exec.Command(node, "--version").Output(); err != nil || oldNode.Match(version) {
		t.Skipf("aimock wants node 20, and this is %s (%v)", version, err)
	}
	if _, err := os.Stat(aimock); err != nil {
		if testkit.NeedAll() {
			t.Fatalf("aimock is not installed: run make need (%v)", err)
		}
		t.Skip("aimock is not installed: run make need")
	}
	url := runAIMock(t, node)
	for api, name := range map[string]string{"chat": "gpt-4o", "responses": "gpt-5.6", "messages": "claude-sonnet-5"} {
		t.Run(api, func(t *testing.T) {
			h := newHouse(t, plan{})
			h.configure(plan{model: fmt.Sprintf("model: {base_url: %s/v1, api: %s, api_key: sk-test, name: %s, retries: 0}", url, api, name)})
			h.start()
			for n, turn := range [][2]string{{"hello #1", "good morning #1"}, {"the time #2", "it is late #2"}, {"goodbye #3", "farewell #3"}} {
				h.tell(ann, turn[0])
				if got := h.said(ann.ID, n+1)[n]; got != turn[1] {
					t.Fatalf("to %q the bot says %q, want %q", turn[0], got, turn[1])
				}
			}
			path := "/v1/" + strings.Replace(api, "chat", "chat/completions", 1)
			if _, journal := fetch(t, url+"/__aimock/journal?path="+path); strings.Count(journal, `"hello #1"`) == 0 {
				t.Errorf("aimock was not asked at %s: %s", path, journal)
			}
		})
	}
}

var oldNode = regexp.MustCompile(`^v1?\d\.`)

var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// runAIMock starts the server and returns its address.
func runAIMock(t *testing.T, node string) string {
	t.Helper()
	fixtures := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(fixtures, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, aimock, "--port", "0", "--host", "127.0.0.1", "--fixtures", fixtures, "--strict")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if url := listening.FindString(lines.Text()); url != "" {
			return url
		}
	}
	t.Fatalf("aimock does not say where it listens:\n%s", &said)
	return ""
}
