package mcptest_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"dragoman/agent/mcp/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	os.Exit(m.Run())
}

const (
	echo = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"still here"}}}`
	work = `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"work","arguments":{}}}`
)

// dead are behaviours of servers that never answer anything.
var dead = []string{"missing", "never", "slow"}

// Each server is what it says: echo works, and whatever work does, it is not what it should.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range mcptest.Names() {
		if mcptest.Does(name) == "" {
			t.Errorf("%s says nothing of itself", name)
		}
		if slices.Contains(dead, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := mcptest.Command(name)
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(in, echo+"\n"); err != nil {
				t.Fatal(err)
			}
			if !finds(out, `"id":7`, "still here") {
				t.Error("it does not answer echo")
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		})
	}
}

// finds reads lines until one has all words.
func finds(r io.Reader, words ...string) bool {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		has := func(word string) bool { return strings.Contains(lines.Text(), word) }
		if json.Valid([]byte(strings.TrimPrefix(lines.Text(), "data: "))) && !slices.ContainsFunc(words, func(w string) bool { return !has(w) }) {
			return true
		}
	}
	return false
}

// The same servers answer over HTTP.
func TestHandler(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"big", "names", "asks", "hidden"} {
		server := httptest.NewServer(mcptest.Handler(name))
		defer server.Close()
		for _, test := range []struct{ send, want string }{{echo, "still here"}, {work, `"id":8`}} {
			resp, err := http.Post(server.URL, "application/json", strings.NewReader(test.send))
			if err != nil {
				t.Fatal(err)
			}
			if !finds(resp.Body, test.want) {
				t.Errorf("%s: %s has no answer with %s", name, test.send, test.want)
			}
			_ = resp.Body.Close()
		}
	}
}
