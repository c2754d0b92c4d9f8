package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/openai"
	"dragoman/internal/respond"
)

// listed is a page of the items of a conversation.
type listed struct {
	Object string
	Data   []struct {
		ID, Type, Status, Role string
		Content                []struct{ Type, Text string }
	}
	First *string `json:"first_id"`
	Last  *string `json:"last_id"`
	More  bool    `json:"has_more"`
}

// texts are what the items of a page say.
func (l listed) texts() (list []string) {
	for _, one := range l.Data {
		list = append(list, one.Role+": "+one.Content[0].Text)
	}
	return list
}

// refusedAs checks the status and the code of a refusal.
func refusedAs(t *testing.T, what string, no *respond.Refusal, status int, param string) {
	t.Helper()
	if no == nil || no.Status != status || no.Param != param {
		t.Errorf("%s is refused with %+v, want %d for %q", what, no, status, param)
	}
}

// A conversation of OpenAI's API lists what was said in it, page by page and in both
// directions, without what tools did. Its client can delete it: then no request finds it,
// and what was said is kept, until whoever runs Dragoman opens it again.
func TestOpenAIConversations(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}, Reply: func(q *agenttest.Request) agenttest.Reply {
		if strings.Contains(q.LastUser(), "two") && q.Messages[len(q.Messages)-1].Role != "tool" {
			return agenttest.ToolReply(agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_0", Name: "time", Arguments: "{}"})
		}
		return nil
	}})
	r := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, retries: 0}`).run()
	s := speaker{r, r.token("program", "", "chat")}
	other := speaker{r, r.token("ann", "telegram:42", "chat")}

	var made struct {
		ID       string
		Metadata map[string]string
	}
	if no := r.request("POST", "/v1/conversations", s.token, `{"metadata":{"topic":"demo"}}`, &made); no != nil {
		t.Fatal(no)
	}
	path := "/v1/conversations/" + made.ID
	read := func(query string) (l listed) {
		t.Helper()
		if no := r.request("GET", path+"/items"+query, s.token, "", &l); no != nil || l.Object != "list" {
			t.Fatalf("GET items%s = %v, %+v", query, no, l)
		}
		return l
	}
	if l := read(""); len(l.Data) != 0 || l.Data == nil || l.First != nil || l.More {
		t.Errorf("the items of an empty conversation are %+v", l)
	}
	var want []string
	for _, text := range []string{"one", "two", "three"} {
		s.expect(200, "chat.completion", fmt.Sprintf(`{"model":"dragoman","conversation":"%s","messages":[{"role":"user","content":"%s"}]}`, made.ID, text))
		want = append(want, "user: "+text, "assistant: echo: "+text)
	}
	all := read("?order=asc")
	// What the echo says after a tool is its own business.
	if got := all.texts(); len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[4] != want[4] {
		t.Errorf("the items are %q, want %q", got, want)
	}
	if one := all.Data[1]; one.Type != "message" || one.Status != "completed" || one.Content[0].Type != "output_text" || all.Data[0].Content[0].Type != "input_text" {
		t.Errorf("the items have the form %+v", all.Data[:2])
	}

	for _, order := range []string{"asc", "desc"} {
		var got []string
		after := ""
		for range 10 {
			l := read("?limit=4&order=" + order + after)
			got = append(got, l.texts()...)
			if !l.More {
				break
			}
			if len(l.Data) != 4 || *l.First != l.Data[0].ID || *l.Last != l.Data[3].ID {
				t.Fatalf("a page is %+v", l)
			}
			after = "&after=" + *l.Last
		}
		wanted := all.texts()
		if order == "desc" {
			for i := range wanted {
				wanted[i] = all.texts()[len(wanted)-1-i]
			}
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("page by page, %s (-want +got):\n%s", order, diff)
		}
	}
	var one struct{ ID, Role string }
	if no := r.request("GET", path+"/items/"+all.Data[1].ID, s.token, "", &one); no != nil || one.ID != all.Data[1].ID || one.Role != "assistant" {
		t.Errorf("GET of an item = %v, %+v", no, one)
	}
	for query, param := range map[string]string{"?limit=0": "limit", "?limit=101": "limit", "?limit=x": "limit", "?order=up": "order", "?after=msg_1": "after"} {
		refusedAs(t, query, r.request("GET", path+"/items"+query, s.token, "", &one), http.StatusBadRequest, param)
	}
	for _, request := range []string{"GET " + path + "/items/msg_none", "GET " + path + "x/items", "GET /v1/conversations/conv_none", "DELETE /v1/conversations/conv_none"} {
		method, path, _ := strings.Cut(request, " ")
		refusedAs(t, request, r.request(method, path, s.token, "", &one), http.StatusNotFound, "")
	}
	refusedAs(t, "POST of items", r.request("POST", path+"/items", s.token, `{"items":[]}`, &one), http.StatusMethodNotAllowed, "")
	// Another's id and a mistyped one are no conversation, not an empty one.
	other.expect(404, "POST /v1/conversations makes one", `{"model":"dragoman","conversation":"`+made.ID+`","messages":[{"role":"user","content":"hers"}]}`)
	mistyped := made.ID[:len(made.ID)-9] + "." + made.ID[len(made.ID)-8:]
	s.expect(404, "POST /v1/conversations makes one", `{"model":"dragoman","conversation":"`+mistyped+`","messages":[{"role":"user","content":"x"}]}`)
	for _, request := range []string{"GET " + path, "GET " + path + "/items", "DELETE " + path} {
		method, path, _ := strings.Cut(request, " ")
		refusedAs(t, request+" by somebody else", r.request(method, path, other.token, "", &one), http.StatusNotFound, "")
	}
	var gone struct {
		ID, Object string
		Deleted    bool
	}
	if no := r.request("GET", path, s.token, "", &made); no != nil || made.Metadata["topic"] != "demo" {
		t.Errorf("GET after that = %v, %+v", no, made)
	}
	if no := r.request("DELETE", path, s.token, "", &gone); no != nil || !gone.Deleted || gone.ID != made.ID || gone.Object != "conversation.deleted" {
		t.Errorf("DELETE = %v, %+v", no, gone)
	}
	for _, request := range []string{"GET " + path, "GET " + path + "/items", "DELETE " + path} {
		method, path, _ := strings.Cut(request, " ")
		refusedAs(t, request+" after it", r.request(method, path, s.token, "", &one), http.StatusNotFound, "")
	}
	in := fmt.Sprintf(`{"model":"dragoman","conversation":"%s","messages":[{"role":"user","content":"four"}]}`, made.ID)
	s.expect(404, "was deleted", in)
	s.expect(404, "was deleted", messages("four"), "X-Session-Key", "web:"+made.ID)
	key := channels.MustKey("web:" + made.ID)
	kept, err := api.ReadMessages.Call(t.Context(), r.admin, api.Part{Key: key})
	if err != nil || len(kept.Data) < len(want) {
		t.Errorf("the transcript has %d messages, %v, want all of them", len(kept.Data), err)
	}
	if _, err := api.Configure.Call(t.Context(), r.admin, api.Change{Key: key, Unmeta: []string{openai.ClosedName}}); err != nil {
		t.Fatal(err)
	}
	s.expect(200, "echo: four", in)
}
