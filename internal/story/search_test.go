package story_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
)

// searcher asks what the newest message says after "search for", and after a message
// without that a question of its own.
func searcher(x *agenttest.Exchange) {
	r := x.Request
	if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
		x.Text("It says: " + last.Content)
		x.End("stop")
		return
	}
	query := "4921"
	if _, words, found := strings.Cut(r.LastUser(), "search for "); found {
		query = words
	}
	x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: fmt.Sprint("call_", r.N), Name: "web_search"})
	x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), Arguments: fmt.Sprintf(`{"query":%q}`, query)})
	x.End("tool_calls")
}

// A question in the person's own words is asked at once. After a page was read, one in
// other words waits for a yes, so the page cannot make the model carry anything away.
func TestWebSearch(t *testing.T) {
	questions := make(chan string, 10)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		questions <- r.URL.Query().Get("q")
		fmt.Fprint(w, `{"results":[{"title":"Tulips","url":"https://garden.example/tulips","content":"They bloom in April."}]}`)
	}))
	defer service.Close()
	h := newHouse(t, plan{options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return searcher }}})
	h.configure(plan{rest: "web_search: {engine: searxng, url: " + service.URL + "}"})
	h.start()
	for n, words := range []string{"tulips bloom", "tulips in April"} {
		h.tell(ann, "search for "+words)
		if got := h.said(ann.ID, n+1)[n]; !strings.Contains(got, "They bloom in April.") || !strings.Contains(got, "https://garden.example/tulips") {
			t.Errorf("after %q the bot says %q", words, got)
		}
		if asked := <-questions; asked != words {
			t.Errorf("the service was asked %q, want %q", asked, words)
		}
	}
	h.tell(ann, "and then?")
	if got := h.said(ann.ID, 3)[2]; !strings.Contains(got, "web_search") || !strings.Contains(got, "4921") {
		t.Errorf("for a question of the model's own the bot says %q, want that it asks", got)
	}
	if len(questions) > 0 {
		t.Errorf("the service was asked %q without a yes", <-questions)
	}
}
