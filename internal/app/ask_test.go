package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/api"
)

// A question over the socket or the page's API is answered as the chat is. A
// cut answer says so; of a failure the cure is told over the owner's socket only.
func TestAskSaysHowItEnded(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main"}})
	r := newPlace(t, "model: {base_url: '"+server.URL()+"', name: main, retries: 0}\n"+
		"http: {listen: '127.0.0.1:0', trusted_proxies: [10.0.0.1], token: "+pageToken+"}").run() // so that the page is not the owner's alone
	socket := func(id string) string {
		got, err := api.PutQuestion.Call(t.Context(), r.admin, api.Question{Key: channels.MustKey("web:default"), ID: id, Text: "hello", Wait: time.Minute.String()})
		if err != nil {
			return err.Error()
		}
		return got.Answer
	}
	page := func(id string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.status().Listen+"/api/ask",
			strings.NewReader(`{"key": "web:default", "text": "hello", "id": "`+id+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"X-Dragoman": {"1"}, "Authorization": {"Bearer " + pageToken}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	server.Next(agenttest.RawReply(`data: {"choices":[{"index":0,"delta":{"content":"half an"},"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n"))
	for name, got := range map[string]string{"socket": socket("cut"), "page": page("cut")} {
		if !strings.Contains(got, "half an") || !strings.Contains(got, "was cut off here") {
			t.Errorf("over the %s a cut answer is %q", name, got)
		}
	}
	server.Next(agenttest.StatusReply(401, nil, `{"error": {"message": "wrong key"}}`))
	const said, cure = "does not accept my key", "set model.api_key"
	if got := socket("failed"); !strings.Contains(got, said) || !strings.Contains(got, cure) {
		t.Errorf("over the socket a failure is %q, want the cure in it", got)
	}
	if got := page("failed"); !strings.Contains(got, said) || strings.Contains(got, cure) {
		t.Errorf("over the page a failure is %q, want no cure in it", got)
	}
}
