package mcptest_test

import (
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/agent/mcp/mcptest"
)

// The good servers speak the era that they are of, over a pipe and over HTTP.
func TestGood(t *testing.T) {
	t.Parallel()
	for _, name := range mcptest.Good {
		server := httptest.NewServer(mcptest.Handler(name))
		t.Cleanup(server.Close)
		command := mcptest.Command(name)
		for way, transport := range map[string]mcp.Transport{
			"pipe": &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)},
			"HTTP": &mcp.StreamableClientTransport{Endpoint: server.URL},
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
				session, err := client.Connect(t.Context(), transport, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				want := map[string]string{"good": "2026-07-28", "good@old": "2025-11-25"}[name]
				if got := session.InitializeResult().ProtocolVersion; got != want {
					t.Errorf("it speaks %s, want %s", got, want)
				}
				got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "add", Arguments: map[string]any{"a": 2, "b": 3}})
				if err != nil || got.IsError || got.StructuredContent.(map[string]any)["sum"] != 5.0 {
					t.Errorf("2 + 3 = %+v, %v", got, err)
				}
			})
		}
	}
}
