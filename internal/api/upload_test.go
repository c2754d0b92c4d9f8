package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
)

// uploads keeps texts, but no novels, and breaks when it is told to.
type uploads map[string]string

func (u uploads) Put(_ context.Context, r io.Reader) (ref string, size int64, err error) {
	text, err := io.ReadAll(r)
	switch {
	case err != nil:
		return "", 0, err
	case strings.HasPrefix(string(text), "novel"):
		return "", 0, &channels.Gone{Why: "too large"}
	case string(text) == "break":
		return "", 0, errors.New("disk is full")
	}
	u["upload:1"] = string(text)
	return "upload:1", int64(len(text)), nil
}

// heard is a Talk that notes what is said.
type heard struct {
	api.Talk
	prompts []api.Prompt
}

func (h *heard) Say(_ context.Context, p api.Prompt) (api.Said, error) {
	h.prompts = append(h.prompts, p)
	return api.Said{Key: p.Key, ID: p.ID}, nil
}

// A file is uploaded first, and a message then names it.
func TestUploads(t *testing.T) {
	kept := uploads{}
	said := &heard{}
	o := optionsOf(talks(t))
	o.Reads = &sights{}
	o.Uploads = kept
	o.Talk = said
	h := api.New(o)
	ask := func(path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", api.Root+path, strings.NewReader(body))
		who := annsToken
		who.Scope = people.Chat
		h.ServeHTTP(w, r.WithContext(people.With(r.Context(), who)))
		return w
	}
	for body, want := range map[string]int{"a note": http.StatusCreated, "novel of a thousand pages": http.StatusRequestEntityTooLarge, "break": http.StatusServiceUnavailable} {
		got := ask("/files", body)
		if got.Code != want || strings.Contains(got.Body.String(), "disk") {
			t.Errorf("POST /files %s = %d %s, want %d", body, got.Code, got.Body, want)
		}
	}
	if kept["upload:1"] != "a note" {
		t.Errorf("kept = %q", kept)
	}
	room := "/conversations/web:telegram:1%2Ftea/messages"
	many := strings.TrimSuffix(strings.Repeat(`{"ref":"upload:1"},`, channels.MaxAttachments+1), ",")
	for body, want := range map[string]int{
		`{"text": "", "files": [{"ref": "upload:1", "name": "note.txt", "type": "text/plain"}]}`: http.StatusAccepted,
		`{"text": "", "files": [{"name": "note.txt"}]}`:                                          http.StatusBadRequest,
		`{"text": "", "files": [` + many + `]}`:                                                  http.StatusBadRequest,
	} {
		if got := ask(room, body); got.Code != want {
			t.Errorf("POST %s %.60s = %d %s, want %d", room, body, got.Code, got.Body, want)
		}
	}
	if len(said.prompts) != 1 || len(said.prompts[0].Files) != 1 || said.prompts[0].Files[0].Name != "note.txt" {
		t.Errorf("said = %+v, want the one with the note", said.prompts)
	}
}
