package api_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// kept are files by name.
type kept map[string]string

func (k kept) Open(file string) (io.ReadCloser, error) {
	text, found := k[file]
	if !found {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

// A file is had by the message that it came with, and only by whoever may read that.
func TestFiles(t *testing.T) {
	s := filled(t)
	said := channels.Inbound{Key: group, ID: "file", Text: "look"}
	message := sessions.Message{Role: sessions.RoleUser, Content: "look", Attachments: []channels.Attachment{
		{Name: "../a\nb.html", Type: "text/html", File: "one"}, {Name: "lost", File: "gone"}, {Name: "never", Missing: "too large"},
	}}
	for range 2 { // as messages 1 and 2, of before Ann came, and 3 and 4
		e := sessions.Entry{Inbound: said, Answered: true, Append: []sessions.Message{message, message}}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		said.ID += "again"
	}
	o := optionsOf(s)
	o.Reads = &sights{}
	o.Files = kept{"one": "<script>"}
	h := api.New(o)
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", api.Root+"/conversations/"+path, nil)
		who := annsToken
		who.Scope = people.Chat
		h.ServeHTTP(w, r.WithContext(people.With(r.Context(), who)))
		return w
	}
	got := ask("telegram:-100/messages/3/files/0")
	if got.Code != http.StatusOK || got.Body.String() != "<script>" {
		t.Errorf("the file is %d %q", got.Code, got.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "Content-Disposition": `attachment; filename=_a_b.html`,
		"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff",
	} {
		if is := got.Header().Get(name); is != want {
			t.Errorf("%s is %q, want %q", name, is, want)
		}
	}
	for _, path := range []string{
		"telegram:-100/messages/2/files/0",  // before Ann came
		"telegram:2/messages/3/files/0",     // somebody else's talk
		"telegram:-100/messages/3/files/1",  // no longer there
		"telegram:-100/messages/3/files/2",  // never was
		"telegram:-100/messages/3/files/3",  // no such attachment
		"telegram:-100/messages/3/files/-1", // no number
		"telegram:-100/messages/99/files/0", // no such message
		"telegram:-100/messages/0/files/0",  // none either
	} {
		if got := ask(path); got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), `"not_found"`) {
			t.Errorf("GET %s = %d %s, want 404", path, got.Code, got.Body)
		}
	}
}
