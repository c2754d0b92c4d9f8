package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// seenBy serves h to one caller.
func seenBy(h http.Handler, who people.Principal) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(people.With(r.Context(), who)))
	})
}

// A conversation is exported in each format, by whoever may read all of it, and without what
// a provider attached to messages.
func TestExport(t *testing.T) {
	s := filled(t)
	attached := sessions.Message{
		Role: sessions.RoleAssistant, Content: "a picture", Attachments: []channels.Attachment{{Name: "p.png", Ref: "key-of-the-file", File: "f"}},
		Attached: &sessions.Attached{By: sessions.Provenance{API: "chat", Host: "example.org", Model: "m"}, Data: []byte(`{}`)},
	}
	e := sessions.Entry{Inbound: channels.Inbound{Key: annsTalk, ID: "p", Text: "/x"}, Answered: true, Append: []sessions.Message{attached}}
	if _, err := s.Accept(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	o := optionsOf(s)
	o.Reads = seen{annsTalk: {May: true, Own: true}, bobsTalk: {May: true, From: 5}}
	h := api.New(o)
	for query, want := range map[string]struct{ kind, name, text string }{
		"":                 {"application/json", "telegram-1.json", `"content": "hello"`},
		"&format=json":     {"application/json", "telegram-1.json", `"content": "a picture"`},
		"&format=markdown": {"text/markdown", "telegram-1.md", "> hello"},
	} {
		w := asked(seenBy(h, ann), "GET", api.Root+"/export?key=telegram:1"+query, "")
		head := w.Header()
		if w.Code != 200 || !strings.HasPrefix(head.Get("Content-Type"), want.kind) || !strings.Contains(head.Get("Content-Disposition"), want.name) || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%s = %d %v %s", query, w.Code, head, w.Body)
		}
		if strings.Contains(w.Body.String(), "example.org") || strings.Contains(w.Body.String(), "key-of-the-file") {
			t.Errorf("%s shows what is not for people: %s", query, w.Body)
		}
	}
	for query, want := range map[string]int{
		"?key=telegram:1&format=jsonl": 403, "?key=telegram:1&format=xml": 400, "": 400, "?key=telegram:3": 404,
		"?key=telegram:2": 404, "?key=telegram:1&key=telegram:3": 404,
	} {
		if w := asked(seenBy(h, ann), "GET", api.Root+"/export"+query, ""); w.Code != want {
			t.Errorf("GET /export%s = %d %s, want %d", query, w.Code, w.Body, want)
		}
	}
	w := asked(seenBy(h, owner), "GET", api.Root+"/export?key=telegram:1&format=jsonl", "")
	if w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"conversation":{"key":"telegram:1"`) || strings.Contains(w.Body.String(), `"done":`) {
		t.Errorf("as jsonl = %d %s", w.Code, w.Body)
	}
}

// noCopies is a store whose copies fail.
type noCopies struct{ api.Copies }

func (noCopies) Dump(context.Context, []channels.Key, func(sessions.Record) error) error {
	return errors.New("the disk is gone")
}

// An export that fails before its first byte is refused.
func TestExportFails(t *testing.T) {
	o := optionsOf(filled(t))
	o.Reads = seen{annsTalk: {May: true, Own: true}}
	o.Store.Copies = noCopies{o.Store.Copies}
	w := asked(seenBy(api.New(o), ann), "GET", api.Root+"/export?key=telegram:1", "")
	if w.Code != 500 || w.Header().Get("Content-Disposition") != "" || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		t.Errorf("the export = %d %v %s, want 500", w.Code, w.Header(), w.Body)
	}
}
