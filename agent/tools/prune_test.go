package tools_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/sessions"
)

// reading is a model that reads a file page by page and then answers. It records how
// the first page is shown in each request.
type reading struct {
	calls []string // arguments of read_file, one call a request
	shown []string
	left  int // requests that leave messages out
}

func (m *reading) Name() string { return "reading" }

func (m *reading) Complete(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
	n := len(m.shown)
	first := ""
	for _, msg := range r.Messages {
		if msg.Role == sessions.RoleTool && first == "" {
			first = msg.Content
		}
	}
	m.shown = append(m.shown, first)
	if len(r.Messages) != 1+2*n {
		m.left++
	}
	if n == len(m.calls) {
		return agent.Response{Message: sessions.Message{Role: sessions.RoleAssistant, Content: "I have read it."}, Finish: "stop"}, nil
	}
	call := sessions.ToolCall{ID: fmt.Sprint("c", n), Name: "read_file", Arguments: m.calls[n]}
	return agent.Response{Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call}}, Finish: "tool_calls"}, nil
}

// TestCase36ReadFileIsPruned: with the defaults a page of read_file is cut to its
// ends once a third of the window is taken, and becomes a notice once half of it is.
// The transcript keeps the page.
func TestCase36ReadFileIsPruned(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "%d. The harbour was quiet when the ferry came in.\n", i)
	}
	put(t, filepath.Join(dir, "log.txt"), text.String())
	m := &reading{calls: []string{
		`{"path": "log.txt"}`, `{"path": "log.txt", "offset": 40000, "limit": 9000}`, `{"path": "log.txt", "offset": 60000, "limit": 300}`,
		`{"path": "log.txt", "offset": 70000, "limit": 300}`, `{"path": "log.txt", "offset": 80000}`, `{"path": "log.txt", "offset": 120000}`,
	}}
	a, err := agent.New(m, []agent.Tool{tools.ReadFile(workspace(t, dir))}, agent.Options{ContextWindow: 32_768})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), agent.Turn{
		ID: "turn", Key: channels.MustKey("web:main"), Input: []sessions.Message{{Role: sessions.RoleUser, Content: "Read the log."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, s := range m.shown[1:] {
		switch {
		case strings.HasPrefix(s, "[The result of read_file, "):
			kinds = append(kinds, "notice")
		case strings.Contains(s, "left out here to save room …]"):
			kinds = append(kinds, "ends")
		default:
			kinds = append(kinds, "whole")
		}
	}
	const want = "whole whole whole ends ends notice"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("the first page was shown %s, want %s", got, want)
	}
	if m.left > 0 {
		t.Errorf("%d requests leave messages out, so that pruning is not what made them fit", m.left)
	}
	if page := res.Messages[2].Content; len(page) < 32<<10 || page != m.shown[1] {
		t.Errorf("the transcript has %d bytes of the first page, want all of it", len(page))
	}
}
