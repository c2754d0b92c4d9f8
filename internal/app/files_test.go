package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/media"
	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// A conversation's files go with it, with and without a daemon, and also when
// a crash has left nothing but them.
func TestDeleteRemovesFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	place := func(folder string) string {
		dir := filepath.Join(p.config().StateDir, "media", folder)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "aaaaaaaaaaaaaaaa.jpg")
		if err := os.WriteFile(name, []byte("a picture"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	remove := func(when, key string) {
		t.Helper()
		c, release, err := app.Admin(t.Context(), p.config(), storage.Caller{Version: "v-test"})
		if err != nil {
			t.Fatalf("%s: Admin = %v", when, err)
		}
		defer release()
		if err := api.Delete.Call(t.Context(), c, api.About{Key: channels.MustKey(key)}); err != nil && !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%s: Delete = %v", when, err)
		}
	}
	gone := func(when, name string, want bool) {
		t.Helper()
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) != want {
			t.Errorf("%s: Stat(%s) = %v, want gone = %v", when, filepath.Base(filepath.Dir(name)), err, want)
		}
	}
	kitchen, hall := place("web_kitchen"), place("web_hall")
	r := p.run()
	r.ask(r.page("kitchen"), "good morning")
	remove("with a daemon", "web:kitchen")
	gone("with a daemon", kitchen, true)
	gone("with a daemon", hall, false)
	r.stop()
	remove("without a daemon", "web:hall")
	gone("without a daemon", hall, true)
}

// cabinet is a store with conversations that have a file each.
type cabinet struct {
	t     *testing.T
	store app.FilingStore
	files *media.Store
	now   time.Time
	all   []string
}

func newCabinet(t *testing.T) *cabinet {
	t.Helper()
	c := &cabinet{t: t, now: time.Now()}
	files, err := media.Open(t.TempDir(), media.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"), sqlite.Options{Now: func() time.Time { return c.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(store.Close(), files.Close()); err != nil {
			t.Error(err)
		}
	})
	c.files, c.store = files, app.Filing(store, files)
	return c
}

// file is what sender's message brought, kept and in the transcript unless it
// still waits.
func (c *cabinet) file(key, sender, id string, waits bool) string {
	c.t.Helper()
	m := channels.Inbound{
		Key: channels.MustKey(key), ID: id, Text: "look", Sender: channels.Person{IDs: []string{sender}},
		Attachments: []channels.Attachment{{Kind: channels.AttachmentImage}}, At: c.now,
	}
	a, err := c.files.Keep(c.t.Context(), m, 0, func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "a picture")
		return err
	})
	if err != nil || a.File == "" {
		c.t.Fatalf("Keep = %+v, %v", a, err)
	}
	e := sessions.Entry{Inbound: m}
	if !waits {
		said := m
		said.Attachments = []channels.Attachment{a}
		e.Answered, e.Append = true, []sessions.Message{sessions.UserMessage(said)}
	}
	if _, err := c.store.Accept(c.t.Context(), e); err != nil {
		c.t.Fatal(err)
	}
	c.all = append(c.all, a.File)
	return a.File
}

// kept wants exactly these files.
func (c *cabinet) kept(when string, want ...string) {
	c.t.Helper()
	got := []string{}
	for _, file := range c.all {
		if f, err := c.files.Open(file); err == nil {
			_ = f.Close()
			got = append(got, file)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		c.t.Errorf("%s: the files %q are there, want %q", when, got, want)
	}
}

// What is deleted, expires or is erased goes with its files, and nothing else
// does: not those of a conversation that has something waiting.
func TestFilesGoWithTheirConversation(t *testing.T) {
	t.Parallel()
	c := newCabinet(t)
	c.file("net:1", "1", "a", false)
	old, busy := c.file("net:2", "2", "b", false), c.file("net:3", "3", "c", false)
	waiting := c.file("net:3", "3", "d", true)
	c.now = c.now.AddDate(0, 0, 40)
	whole, group := c.file("net:4", "4", "e", false), c.file("net:#g", "4", "f", false)
	other := c.file("net:#g", "5", "g", false)
	lid, number := c.file("net:7", "7", "h", false), c.file("net:8", "7", "i", false)

	if err := c.store.Delete(t.Context(), channels.MustKey("net:1")); err != nil {
		t.Fatal(err)
	}
	c.kept("deleted", old, busy, waiting, whole, group, other, lid, number)
	keys, err := c.store.Expire(t.Context(), c.now.AddDate(0, 0, -30), 100)
	if err != nil || len(keys) != 1 {
		t.Fatalf("Expire = %v, %v, want one", keys, err)
	}
	c.kept("expired", busy, waiting, whole, group, other, lid, number)
	erased, err := c.store.Erase(t.Context(), sessions.Erasure{
		Keys: []channels.Key{channels.MustKey("net:4")}, Senders: []sessions.Sender{{Channel: "net", ID: "4"}},
	})
	if err != nil || erased.Conversations != 1 {
		t.Fatalf("Erase = %+v, %v", erased, err)
	}
	c.kept("erased a person", busy, waiting, other, lid, number)
	if err := c.store.Join(t.Context(), channels.MustKey("net:7"), channels.MustKey("net:8")); err != nil {
		t.Fatal(err)
	}
	c.kept("joined", busy, waiting, other, lid, number)
	if n, err := app.Tidy(t.Context(), c.store, c.files, time.Now().Add(48*time.Hour)); n != 1 || err != nil {
		t.Errorf("Tidy = %d, %v, want the one that is not in a transcript", n, err)
	}
	c.kept("tidied", busy, other, lid, number)
	if err := c.store.Delete(t.Context(), channels.MustKey("net:8")); err != nil {
		t.Fatal(err)
	}
	c.kept("deleted after a join", busy, other)
}

// A crash between the removal of a conversation and of its files, or between
// the arrival of a file and the commit that names it, leaves files that are
// found a day later.
func TestFilesThatNothingNames(t *testing.T) {
	t.Parallel()
	c := newCabinet(t)
	orphan, named := c.file("net:1", "1", "a", false), c.file("net:2", "2", "b", false)
	stray, err := c.files.Keep(t.Context(), channels.Inbound{
		Key: channels.MustKey("net:2"), ID: "never stored", Attachments: make([]channels.Attachment, 1),
	}, 0, func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "x")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c.all = append(c.all, stray.File)
	if err := c.store.Store.Delete(t.Context(), channels.MustKey("net:1")); err != nil {
		t.Fatal(err)
	}
	if n, err := app.Tidy(t.Context(), c.store, c.files, time.Now().Add(23*time.Hour)); n != 0 || err != nil {
		t.Errorf("Tidy on the same day = %d, %v, want nothing", n, err)
	}
	c.kept("on the same day", orphan, named, stray.File)
	if n, err := app.Tidy(t.Context(), c.store, c.files, time.Now().Add(25*time.Hour)); n != 2 || err != nil {
		t.Errorf("Tidy a day later = %d, %v, want two", n, err)
	}
	c.kept("a day later", named)
}

// A file that is sent on the page is part of its message, is shown again, and
// goes with the conversation.
func TestFilesOnThePage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "media: {max_bytes: 1KiB}")
	r := p.run()
	base := "http://" + r.status().Listen + "/api/chat"
	ask := func(method, path, body string) (int, string, http.Header) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Dragoman", "1")
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b), resp.Header
	}
	if code, body, _ := ask("POST", "/files", strings.Repeat("x", 1025)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a file that is too large: %d %s", code, body)
	}
	code, body, _ := ask("POST", "/files", "the price is 42")
	var put struct {
		Ref string `json:"ref"`
	}
	if err := json.Unmarshal([]byte(body), &put); err != nil || code != 200 {
		t.Fatalf("POST /files = %d %s, %v", code, body, err)
	}
	message := `{"id":"message-1","text":"look","files":[{"ref":"` + put.Ref + `","name":"offer.txt","type":"text/plain"}]}`
	if code, body, _ := ask("POST", "/messages?room=hall", message); code != 200 {
		t.Fatalf("POST /messages = %d %s", code, body)
	}
	c := r.page("hall")
	r.until("an answer", func() bool { items := r.feed(c); return len(items) == 2 && items[1].State == "sent" })
	if code, body, _ := ask("POST", "/messages?room=hall", message); code != 200 {
		t.Errorf("the same message again = %d %s", code, body)
	}
	item := r.feed(c)[0]
	if len(item.Files) != 1 || item.Files[0].Name != "offer.txt" || item.Files[0].Bytes != 15 {
		t.Errorf("the message is shown with %+v", item.Files)
	}
	path := fmt.Sprintf("/file?room=hall&seq=%d&n=0", item.Seq)
	if code, body, head := ask("GET", path, ""); code != 200 || body != "the price is 42" || !strings.HasPrefix(head.Get("Content-Disposition"), "attachment") || !strings.Contains(head.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("GET %s = %d %q %v", path, code, body, head)
	}
	said, err := api.ReadMessages.Call(t.Context(), r.admin, api.Part{Key: channels.MustKey("web:hall"), Limit: 10, After: "0"})
	if err != nil || len(said.Data) == 0 || !strings.HasPrefix(said.Data[0].Content, "look\n[document \"offer.txt\", text/plain, 15 bytes, file web_hall/") || strings.Contains(said.Data[0].Content, put.Ref) {
		t.Errorf("the transcript has %+v, %v", said, err)
	}
	if err := api.Delete.Call(t.Context(), r.admin, api.About{Key: channels.MustKey("web:hall")}); err != nil {
		t.Fatal(err)
	}
	if code, body, _ := ask("GET", path, ""); code != http.StatusNotFound {
		t.Errorf("after deleting: GET = %d %s", code, body)
	}
}
