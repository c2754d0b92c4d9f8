package api_test

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
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

// Files are listed by page, each once, the newest first, and to nobody who may not read
// their message.
func TestListFiles(t *testing.T) {
	s := filled(t)
	mine := channels.MustKey("telegram:7")
	sent := 0
	say := func(k channels.Key, files ...string) {
		t.Helper()
		m := sessions.Message{Role: sessions.RoleUser, Content: "look at this", Name: "Ann", Sender: "7"}
		for _, name := range files {
			m.Attachments = append(m.Attachments, channels.Attachment{Kind: channels.AttachmentDocument, Name: name, Type: "text/plain", Bytes: 5, File: "f-" + name})
		}
		sent++
		e := sessions.Entry{Inbound: channels.Inbound{Key: k, ID: fmt.Sprint("file", sent), Text: "look"}, Answered: true, Append: []sessions.Message{m, {Role: sessions.RoleAssistant, Content: "seen"}}}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	say(group, "before Ann")
	say(group, "in the group")
	for i := range 250 { // more than one part
		say(mine)
		if i == 3 {
			say(mine, "oldest a", "oldest b", "oldest c")
		}
	}
	say(mine, "newest")
	say(channels.MustKey("telegram:8"), "of somebody else")
	o := optionsOf(s)
	o.Reads = seen{mine: {May: true, Own: true}, group: {May: true, From: 3}}
	h := api.New(o)
	c := api.InProcess(h)
	defer c.Close()
	for limit, wantSizes := range map[int][]int{1: {1, 1, 1, 1, 1}, 2: {2, 2, 1}, 0: {5}} {
		args := func(after string) api.FilesQuery { return api.FilesQuery{After: after, Limit: limit} }
		sizes, names := pages(t, c, api.ListFiles, args, func(f api.ListedFile) string { return f.Name }, nil)
		want := []string{"in the group", "newest", "oldest a", "oldest b", "oldest c"}
		if !slices.Equal(names, want) || !slices.Equal(sizes, wantSizes) {
			t.Errorf("in pages of %d: %v in %v, want %v in %v", limit, names, sizes, want, wantSizes)
		}
	}
	page, err := api.ListFiles.Call(t.Context(), c, api.FilesQuery{Key: mine, Limit: 1})
	if err != nil || len(page.Data) != 1 {
		t.Fatalf("the files of one conversation are %+v, %v", page, err)
	}
	f := page.Data[0]
	if f.Key != mine || f.From != "Ann" || f.Sender != "7" || f.Bytes != 5 || f.Type != "text/plain" || f.Text != "look at this" || f.N != 0 {
		t.Errorf("the newest file is %+v", f)
	}
	for path, want := range map[string]int{
		"/files?key=telegram:8": 404, "/files?after=x": 400, "/files?key=telegram:-100&after=" + page.Next: 400, "/files?limit=201": 400,
	} {
		if w := asked(h, "GET", api.Root+path, ""); w.Code != want {
			t.Errorf("GET %s = %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}

// A walk through many conversations without files ends its pages early and goes on.
func TestListFilesOfMany(t *testing.T) {
	s := filled(t)
	for i := range 130 {
		k := channels.MustKey(fmt.Sprintf("web:room%03d", i)) // all at one time, so in this order
		m := sessions.Message{Role: sessions.RoleUser, Content: "hello"}
		if i == 129 {
			m.Attachments = []channels.Attachment{{Name: "last", File: "last"}}
		}
		e := sessions.Entry{Inbound: channels.Inbound{Key: k, ID: k.String(), Text: "hello"}, Answered: true, Append: []sessions.Message{m}}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	c := api.InProcess(api.New(optionsOf(s)))
	defer c.Close()
	args := func(after string) api.FilesQuery { return api.FilesQuery{After: after} }
	sizes, names := pages(t, c, api.ListFiles, args, func(f api.ListedFile) string { return f.Name }, nil)
	if !slices.Equal(names, []string{"last"}) || !slices.Equal(sizes, []int{0, 1}) {
		t.Errorf("the pages have %v with %v", sizes, names)
	}
}
