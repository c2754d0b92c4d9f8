package app_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/agent/window"
)

const (
	// mostForHello is how many tokens a hello may cost with everything offered.
	mostForHello = 2000
	// aroundATool is about what a server's template adds around a tool, as the agent counts it.
	aroundATool = 12
)

// A hello costs little: the request of a first message with all tools offered, by our own
// estimate. go test -v prints what it is made of.
func TestWhatAHelloCosts(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}})
	r := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, retries: 0}`).run()
	r.ask(r.page(""), "hello")
	var q struct {
		Messages []struct{ Role, Content string }
		Tools    []struct {
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
	}
	all := server.Requests()
	if err := json.Unmarshal(all[len(all)-1].Body, &q); err != nil {
		t.Fatal(err)
	}
	type part struct {
		name   string
		tokens int
	}
	var tools, rest []part
	for _, tool := range q.Tools {
		f := tool.Function
		tools = append(tools, part{f.Name, aroundATool + window.EstimateText(f.Name) + window.EstimateText(f.Description) + window.EstimateText(string(f.Parameters))})
	}
	slices.SortFunc(tools, func(a, b part) int { return cmp.Compare(b.tokens, a.tokens) })
	for _, m := range q.Messages {
		rest = append(rest, part{"(" + m.Role + ")", window.EstimateText(m.Content)})
	}
	var table strings.Builder
	total := 0
	for _, p := range slices.Concat(rest, tools) {
		fmt.Fprintf(&table, "%6d %s\n", p.tokens, p.name)
		total += p.tokens
	}
	t.Logf("a hello costs %d tokens, %d bytes:\n%s\nThe prompt: %s", total, len(all[len(all)-1].Body), table.String(), q.Messages[0].Content)
	if total > mostForHello || len(tools) < 14 {
		t.Errorf("a hello costs %d tokens with %d tools, at most %d are allowed with all of them", total, len(tools), mostForHello)
	}
}
