package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/respond"
)

// token makes a named token and returns its secret.
func (r *running) token(name, person, scope string) string {
	r.t.Helper()
	made, err := api.CreateToken.Call(r.t.Context(), r.admin, api.NewToken{Name: name, Person: person, Scope: scope})
	if err != nil {
		r.t.Fatal(err)
	}
	return made.Secret
}

// request asks the port with a token ("": none) and decodes the answer into got. It
// returns the refusal, if there is one.
func (r *running) request(method, path, token, body string, got any) *respond.Refusal {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.status().Listen+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-Dragoman", "1")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return respond.ReadRefusal(resp)
	}
	if err := json.NewDecoder(resp.Body).Decode(got); err != nil {
		r.t.Fatal(err)
	}
	return nil
}

// Everybody whom a token lets in has rooms of their own, and asks nowhere else.
func TestRoomsOfOthers(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "").run()
	if got := r.ask(r.page(""), "the operator was here"); !strings.Contains(got, "“the operator was here”") {
		t.Fatalf("the open port answers %q", got)
	}
	anns := r.token("ann", "telegram:42", "chat")
	operators := r.token("desk", "", "operate")
	chats := r.token("phone", "", "chat")
	page := r.page("")
	page.Header.Set("Authorization", "Bearer "+anns)
	r.until("the port to be open no longer", func() bool { return r.request("GET", "/api/session", "", "", new(any)) != nil })
	if items := r.feed(page); len(items) != 0 {
		t.Errorf("Ann's room begins with %v, want her own, which is empty", items)
	}
	if got := r.ask(page, "Ann was here"); !strings.Contains(got, "“Ann was here”") {
		t.Errorf("Ann gets the answer %q", got)
	}
	page.Header.Set("Authorization", "Bearer "+operators)
	if items := r.feed(page); len(items) != 2 || items[0].Text != "the operator was here" {
		t.Errorf("the operator's room has %v, want only what was said there", items)
	}
	for name, c := range map[string]struct {
		token, key string
		status     int
	}{
		"her room":                                      {anns, "web:telegram:42/default", 0},
		"her room of no name":                           {anns, "web:telegram:42/No Room", 403},
		"the operator's room":                           {anns, "web:default", 404},
		"the operator's terminal":                       {anns, "cli:direct", 404},
		"another person's talk":                         {anns, "telegram:7", 404},
		"a talk, with a chat token of the operator":     {chats, "telegram:7", 404},
		"Ann's room, with a chat token of the operator": {chats, "web:telegram:42/default", 404},
		"the operator's terminal, with a chat token":    {chats, "cli:direct", 0},
		"the operator's room, by them":                  {operators, "web:default", 0},
	} {
		var answer struct{ Answer string }
		refused := r.request("POST", "/api/ask", c.token, `{"key":"`+c.key+`","text":"one more"}`, &answer)
		switch {
		case c.status == 0 && (refused != nil || !strings.Contains(answer.Answer, "“one more”")):
			t.Errorf("%s: %q, %v, want an answer", name, answer.Answer, refused)
		case c.status != 0 && (refused == nil || refused.Status != c.status):
			t.Errorf("%s: %q, %v, want %d", name, answer.Answer, refused, c.status)
		}
	}
	// The same id is another question of another person, and each asks as themselves.
	bobs := r.token("bob", "telegram:7", "chat")
	for who, secret := range map[string]string{"telegram:42": anns, "telegram:7": bobs} {
		var answer struct{ Answer string }
		key := "web:" + who + "/same"
		for range 2 { // the second one waits for the first
			if refused := r.request("POST", "/api/ask", secret, `{"key":"`+key+`","id":"one","text":"of `+who+`"}`, &answer); refused != nil || !strings.Contains(answer.Answer, "of "+who) {
				t.Errorf("%s is answered %q, %v", who, answer.Answer, refused)
			}
		}
		said, err := api.ReadMessages.Call(t.Context(), r.admin, api.Part{Key: channels.MustKey(key)})
		if err != nil || len(said.Data) != 2 || said.Data[0].Sender != who {
			t.Errorf("in %s was said %+v, %v, want one question of theirs", key, said.Data, err)
		}
	}
	if refused := r.request("POST", "/api/ask", operators, `{"key":"web:default","text":"one more","loud":true}`, new(any)); refused == nil || refused.Status != 400 || !strings.Contains(refused.Param+refused.Sentence, "loud") {
		t.Errorf("a field that nobody knows: %v, want it refused by its name", refused)
	}
}
