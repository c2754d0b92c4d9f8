package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/channels"
	"dragoman/internal/api"
)

// carrier sends a token with each request.
type carrier struct {
	token string
	http.Transport
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.token)
	return c.Transport.RoundTrip(r)
}

// The official client in Go, which speaks the newest revision, lists and calls our tools, and
// reads an error as one of the tool.
func TestMCPOfficialClient(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "").run()
	if _, err := api.PutQuestion.Call(t.Context(), r.admin, api.Question{Key: channels.MustKey(ownTalk), Text: "the canary sings"}); err != nil {
		t.Fatal(err)
	}
	way := &carrier{token: r.token("agent", "", "chat")}
	t.Cleanup(way.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + r.status().Listen + "/mcp", HTTPClient: &http.Client{Transport: way}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"conversations", "read", "search", "jobs"}) {
		t.Errorf("the tools are %q", names)
	}
	for _, c := range []struct {
		tool    string
		args    map[string]any
		want    string
		isError bool
	}{
		{"conversations", nil, ownTalk, false},
		{"read", map[string]any{"conversation": ownTalk}, "the canary sings", false},
		{"search", map[string]any{"query": "canary"}, ownTalk, false},
		{"jobs", map[string]any{}, "items", false},
		{"read", map[string]any{"conversation": "nothing"}, "conversation is a key", true},
	} {
		got, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
		if err != nil {
			t.Errorf("%s %v: %v", c.tool, c.args, err)
			continue
		}
		text, _ := got.Content[0].(*mcp.TextContent)
		if got.IsError != c.isError || text == nil || !strings.Contains(text.Text, c.want) {
			t.Errorf("%s %v = %+v, want %q", c.tool, c.args, text, c.want)
		}
	}
}
