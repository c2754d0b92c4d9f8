package story_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent/mcp/mcptest"
	"dragoman/internal/testkit"
)

// overHTTP starts npm's server for tests of clients at an address.
func overHTTP(t *testing.T) (url string) {
	t.Helper()
	command := testkit.Hands(t, "everything")
	address := testkit.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, command[0], command[1], "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	url = "http://" + address + "/mcp"
	testkit.Eventually(t, "the server to listen", func() bool {
		resp, err := http.Get(url)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return true
	})
	http.DefaultClient.CloseIdleConnections()
	return url
}

// People use npm's servers over Telegram: over pipes and HTTP, and in both eras of the
// protocol.
func TestHandsServers(t *testing.T) {
	modern := httptest.NewServer(mcptest.Handler("good"))
	t.Cleanup(modern.Close)
	folder := t.TempDir()
	note := filepath.Join(folder, "note.txt")
	// Few tools, so that all of them are described.
	const read = "tools: {'*': deny, echo: allow, get-sum: allow, add: allow, read_text_file: allow, write_file: allow, read_graph: allow, create_entities: allow}, " +
		"effects: {echo: read, get-sum: read, add: read, read_text_file: read, read_graph: read, create_entities: read, write_file: read}"
	over := func(name string, command ...string) string {
		return fmt.Sprintf("    %s: {command: [%s], %s}\n", name, strings.Join(command, ", "), read)
	}
	h := withServers(t,
		over("everything", testkit.Hands(t, "everything")...),
		over("files", append(testkit.Hands(t, "filesystem"), folder)...),
		strings.Replace(over("memory", testkit.Hands(t, "memory")...), "{command", "{env: {MEMORY_FILE_PATH: "+filepath.Join(folder, "memory.jsonl")+"}, command", 1),
		over("pipe", mcptest.Command("good")...),
		fmt.Sprintf("    web: {url: %q, %s}\n    modern: {url: %q, %s}\n", overHTTP(t), read, modern.URL, read))
	h.start()
	for _, call := range []struct{ tool, args, want string }{
		{"everything__echo", `{"message":"hello"}`, "Echo: hello"},
		{"web__get-sum", `{"a":19,"b":23}`, "42"},
		{"modern__add", `{"a":40,"b":2}`, "42"},
		{"pipe__add", `{"a":40,"b":3}`, "43"},
		{"files__write_file", `{"path":"` + note + `","content":"tulips"}`, "Successfully wrote"},
		{"files__read_text_file", `{"path":"` + note + `"}`, "tulips"},
		{"memory__create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes tulips"]}]}`, "likes tulips"},
		{"memory__read_graph", `{}`, "likes tulips"},
	} {
		h.untilOffered(ann, call.tool)
		got := h.answer(ann, "!tool "+call.tool+" "+call.args)
		if _, result, _ := strings.Cut(got, " -> "); !strings.Contains(result, call.want) {
			t.Errorf("%s says %q, want %q", call.tool, got, call.want)
		}
	}
	if got, err := os.ReadFile(note); string(got) != "tulips" {
		t.Errorf("the file has %q, %v", got, err)
	}
}
