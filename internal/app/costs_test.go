package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/skills"
	"dragoman/agent/tokens"
	"dragoman/agent/toolbox"
	"dragoman/agent/tools"
	"dragoman/internal/api"
)

// mostForMany is how many tokens 300 tools of servers may add to a request.
const mostForMany = 3000

// counted returns how many tokens text has for o200k_base, as OpenAI's models count.
func counted(t *testing.T, text string) int {
	t.Helper()
	counter, err := tokens.Open("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	return counter.Count(text)
}

// hello is what a daemon with this configuration asks its model after a hello: the request,
// and of it the tools by their names.
func hello(t *testing.T, settings string, ready func(*running)) (body string, described map[string]string) {
	t.Helper()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"m"}})
	r := newPlace(t, fmt.Sprintf("model: {type: openai, base_url: '%s', name: m, context_window: 100000}\n%s", server.URL(), settings)).run()
	ready(r)
	r.ask(r.page("hello"), "hello")
	all := server.Requests()
	raw := all[len(all)-1].Body
	var q struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &q); err != nil {
		t.Fatal(err)
	}
	described = map[string]string{}
	for _, one := range q.Tools {
		var tool struct{ Function struct{ Name string } }
		if err := json.Unmarshal(one, &tool); err != nil {
			t.Fatal(err)
		}
		described[tool.Function.Name] = string(one)
	}
	return string(raw), described
}

// asSent is a tool as a request of chat completions describes it.
func asSent(t *testing.T, s agent.Spec) string {
	t.Helper()
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	text, err := json.Marshal(struct {
		Function function `json:"function"`
		Type     string   `json:"type"`
	}{function{s.Name, s.Description, s.Parameters}, "function"})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// docs/tools.md has each tool with its effect, when it is offered, its limits, and what it adds
// to each request, as counted in a real one. UPDATE=1 writes the numbers.
func TestWhatToolsCost(t *testing.T) {
	t.Parallel()
	body, described := hello(t, "", func(*running) {})
	costs := map[string]int{}
	effects := map[string]agent.Effect{}
	usual := counted(t, body)
	all := usual
	for _, tool := range tools.Builtin(tools.Needs{}) {
		spec := tool.Spec()
		text := asSent(t, spec)
		real, on := described[spec.Name]
		if on != (spec.Off == "") || on && real != text {
			t.Errorf("%s is sent as %s, want %s", spec.Name, real, text)
		}
		costs[spec.Name] = counted(t, text+",")
		effects[spec.Name] = spec.Effect
		if !on {
			all += costs[spec.Name]
		}
	}
	for _, tool := range append((toolbox.Index{}).Tools(), skillTools(t)...) {
		costs[tool.Spec().Name] = counted(t, asSent(t, tool.Spec())+",")
	}
	many := manyTools(t)
	if usual > mostForHello || many > mostForMany {
		t.Errorf("a hello costs %d tokens, at most %d are allowed; 300 tools of a server add %d, at most %d", usual, mostForHello, many, mostForMany)
	}
	page := readPage(t)
	fresh := withSum(withCosts(t, page, costs, effects), usual, all, many)
	if fresh == page {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("docs/tools.md has other numbers: UPDATE=1 go test -run TestWhatToolsCost ./internal/app writes it")
	}
	if err := os.WriteFile(toolsPage, []byte(fresh), 0o644); err != nil {
		t.Fatal(err)
	}
}

// skillTools are the tools of a skill.
func skillTools(t *testing.T) []agent.Tool {
	t.Helper()
	o := skills.Options{Dir: t.TempDir(), Pins: filepath.Join(t.TempDir(), "pins")}
	err := os.Mkdir(filepath.Join(o.Dir, "one"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(o.Dir, "one", "SKILL.md"), []byte("---\nname: one\ndescription: One.\n---\nBody\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	pins := skills.Pins{}
	all, err := skills.Look(o.Dir, pins)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if err := pins.Accept(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := pins.Write(o.Pins); err != nil {
		t.Fatal(err)
	}
	return skills.Open(o).Tools(t.Context())
}

// manyTools is how many tokens 300 tools of a server add to a hello.
func manyTools(t *testing.T) int {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "office", Version: "1"}, nil)
	for _, verb := range []string{"list", "get", "create", "update", "delete", "search"} {
		for n, noun := range strings.Fields(nouns) {
			for _, more := range []string{"", "_comments"} {
				about := fmt.Sprintf("%s %s of the account, with filters, a page and a sort order. Number %d.", verb, noun, n)
				sdk.AddTool(s, &sdk.Tool{Name: verb + "_" + noun + more, Description: strings.Repeat(about+" ", 4)}, nothing)
			}
		}
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	without, _ := hello(t, "", func(*running) {})
	with, described := hello(t, "mcp: {servers: {office: {url: '"+web.URL+"'}}}", func(r *running) {
		r.until("the tools to be known", func() bool {
			r.ask(r.page("first"), "hello")
			list, err := api.ListToolServers.Call(r.t.Context(), r.admin, api.None{})
			return err == nil && len(list.Data) == 1 && list.Data[0].Tools == 300
		})
	})
	if described["find_tool"] == "" || !strings.Contains(with, "search_invoices_comments") {
		t.Fatalf("the tools are not listed: %.3000s", with)
	}
	return counted(t, with) - counted(t, without)
}

// nouns are 25 of an office.
const nouns = "events calendars mails drafts contacts groups files folders sheets rows tasks projects issues invoices payments orders customers products tickets meetings notes reminders messages channels users"

func nothing(_ context.Context, _ *sdk.CallToolRequest, _ struct {
	ID string `json:"id"`
},
) (*sdk.CallToolResult, any, error) {
	return &sdk.CallToolResult{}, nil, nil
}
