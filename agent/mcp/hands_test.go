package mcp_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

// handsPool is a pool with the patience that people have.
func handsPool(t *testing.T, servers ...mcp.Server) *mcp.Pool {
	t.Helper()
	pool := mcp.New(servers, &notes{}, mcp.Options{Home: t.TempDir()})
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// use calls a tool and wants some words of its result.
func use(t *testing.T, pool *mcp.Pool, name, args, want string) {
	t.Helper()
	tool := find(t, pool, name)
	if tool == nil {
		t.Errorf("%s is not offered; missing are %v", name, pool.Missing(t.Context()))
		return
	}
	got, err := tool.Run(t.Context(), agent.Call{ID: "call", Args: []byte(args), Found: &sessions.Taint{}})
	if err != nil || !strings.Contains(got, want) {
		t.Errorf("%s(%s) = %.500q, %v; want %q", name, args, got, err, want)
	}
}

// everything uses the tools of npm's server for tests of clients.
func everything(t *testing.T, pool *mcp.Pool) {
	t.Helper()
	for _, call := range []struct{ tool, args, want string }{
		{"echo", `{"message":"hello"}`, "Echo: hello"},
		{"get-sum", `{"a":19,"b":23}`, "42"},
		{"get-tiny-image", `{}`, "a picture that is not shown here: image/png"},
		{"get-structured-content", `{"location":"Chicago"}`, "temperature"},
		{"get-resource-links", `{"count":2}`, "[A link:"},
		{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "[The file"},
		{"get-annotated-message", `{"messageType":"success"}`, "successfully"},
		{"trigger-long-running-operation", `{"duration":1,"steps":4}`, "completed"},
		{"get-env", ``, "LANG"},
	} {
		use(t, pool, "everything__"+call.tool, call.args, call.want)
	}
}

// npm's server for tests of clients, over its pipe.
func TestHandsEverything(t *testing.T) {
	t.Parallel()
	everything(t, handsPool(t, mcp.Server{Name: "everything", Command: testkit.Hands(t, "everything")}))
}

// The same over HTTP, where it has sessions.
func TestHandsEverythingWeb(t *testing.T) {
	t.Parallel()
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
	url := "http://" + address + "/mcp"
	testkit.Eventually(t, "the server to listen", func() bool {
		resp, err := http.Get(url)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return true
	})
	http.DefaultClient.CloseIdleConnections()
	everything(t, handsPool(t, mcp.Server{Name: "everything", URL: url}))
}

// Files and a memory, as people use them, at once.
func TestHandsFilesAndMemory(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	pool := handsPool(t,
		mcp.Server{Name: "files", Command: append(testkit.Hands(t, "filesystem"), folder)},
		mcp.Server{Name: "memory", Command: testkit.Hands(t, "memory"), Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(folder, "memory.jsonl")}},
	)
	note := filepath.Join(folder, "note.txt")
	use(t, pool, "files__write_file", `{"path":"`+note+`","content":"tulips"}`, "Successfully")
	use(t, pool, "files__read_text_file", `{"path":"`+note+`"}`, "tulips")
	use(t, pool, "files__list_directory", `{"path":"`+folder+`"}`, "note.txt")
	use(t, pool, "memory__create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes tulips"]}]}`, "Ann")
	use(t, pool, "memory__search_nodes", `{"query":"tulips"}`, "likes tulips")
	use(t, pool, "memory__read_graph", ``, "likes tulips")
	if tool := find(t, pool, "files__read_text_file"); tool != nil {
		if got, err := tool.Run(t.Context(), agent.Call{Args: []byte(`{"path":"/etc/passwd"}`)}); err == nil {
			t.Errorf("a file elsewhere = %.200q, want that the server refuses", got)
		}
	}
}
