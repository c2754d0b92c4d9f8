package live_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/live"
	"dragoman/channels/live/livetest"
	"dragoman/internal/respond"

	"github.com/google/go-cmp/cmp"
)

// ask makes one request and returns the status and the sentence of a refusal.
func (h *house) ask(t *testing.T, method, path string, body io.Reader) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var said struct {
		Error struct{ Message, Type, Code string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		t.Errorf("%s %s: the answer is no JSON: %v", method, path, err)
	}
	if said.Error.Message != "" && (said.Error.Type == "" || said.Error.Code == "") {
		t.Errorf("%s %s: the refusal %+v has no type or no code", method, path, said.Error)
	}
	return resp.StatusCode, said.Error.Message
}

func (h *house) texts() []string { return h.feed.Texts() }

func TestRefusals(t *testing.T) {
	h := open(t, nil)
	const id = `"id":"12345678"`
	long := strings.Repeat("é", 12<<20/2)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		sentence                 string
	}{
		{"12 MB", "POST", "/messages", `{` + id + `,"text":"` + long + `"}`, 413, "at most 256 KiB"},
		{"a little too long", "POST", "/messages", `{` + id + `,"text":"` + strings.Repeat("x", 256<<10+1) + `"}`, 413, "at most 256 KiB"},
		{"not UTF-8", "POST", "/messages", `{` + id + `,"text":"` + "a\xffb" + `"}`, 400, "UTF-8"},
		{"unknown field", "POST", "/messages", `{` + id + `,"text":"x","admin":true}`, 400, `"admin"`},
		{"long unknown field", "POST", "/messages", `{"` + strings.Repeat("a", 5000) + `":1}`, 400, "is unknown"},
		{"not JSON", "POST", "/messages", `hello`, 400, "JSON"},
		{"an array", "POST", "/messages", `[]`, 400, "JSON"},
		{"two objects", "POST", "/messages", `{` + id + `,"text":"x"}{}`, 400, "something after"},
		{"nothing", "POST", "/messages", ``, 400, "JSON"},
		{"no id", "POST", "/messages", `{"text":"x"}`, 400, "id of 8 to 64"},
		{"odd id", "POST", "/messages", `{"id":"../../etc","text":"x"}`, 400, "id of 8 to 64"},
		{"no text", "POST", "/messages", `{` + id + `}`, 400, "empty"},
		{"blank text", "POST", "/messages", `{` + id + `,"text":" \n\t "}`, 400, "empty"},
		{"NUL", "POST", "/messages", `{` + id + `,"text":"a\u0000b"}`, 400, "NUL"},
		{"stop with text", "POST", "/stop", `{` + id + `,"text":"x"}`, 400, "no text"},
		{"stop with an odd id", "POST", "/stop", `{"id":"x"}`, 400, "id of 8"},
		{"GET a message", "GET", "/messages", ``, 405, "POST"},
		{"POST the feed", "POST", "/feed", `{}`, 405, "GET"},
		{"nowhere", "GET", "/", ``, 404, "nothing"},
		{"odd room", "GET", "/feed?room=../x", ``, 404, "no such room"},
		{"odd before", "GET", "/feed?before=-1", ``, 400, "whole numbers"},
		{"odd limit", "GET", "/feed?limit=many", ``, 400, "whole numbers"},
		{"odd after", "GET", "/events?after=1e3", ``, 400, "number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, sentence := h.ask(t, c.method, c.path, strings.NewReader(c.body))
			if status != c.status || !strings.Contains(sentence, c.sentence) {
				t.Errorf("answer = %d %q, want %d with %q", status, sentence, c.status, c.sentence)
			}
			if len(sentence) > 150 || !strings.HasSuffix(sentence, ".") {
				t.Errorf("%q is not a short sentence", sentence)
			}
		})
	}
	if got := h.texts(); len(got) != 0 {
		t.Errorf("%d refused messages were stored", len(got))
	}
}

func TestLongestMessageFits(t *testing.T) {
	h := open(t, nil)
	text := strings.Repeat("é", 128<<10) // escaped it is three times as long
	var b strings.Builder
	b.WriteString(`{"id":"12345678","text":"`)
	for range 128 << 10 {
		b.WriteString(`\u00e9`)
	}
	b.WriteString(`"}`)
	if status, sentence := h.ask(t, "POST", "/messages", strings.NewReader(b.String())); status != 200 {
		t.Fatalf("answer = %d %q, want 200", status, sentence)
	}
	if diff := cmp.Diff([]string{text}, h.texts()); diff != "" {
		t.Error("the longest message was not stored as it is")
	}
}

func TestRetryIsSafeAndErrorsAreTemporary(t *testing.T) {
	h := open(t, nil)
	h.mu.Lock()
	h.refuse = errors.New("disk full")
	h.mu.Unlock()
	var refused *respond.Refusal
	if err := h.client().Post(t.Context(), "message-1", "hi"); !errors.As(err, &refused) || !refused.Temporary() {
		t.Fatalf("Post to a full disk = %v, want a temporary refusal", err)
	}
	if strings.Contains(refused.Sentence, "disk") {
		t.Errorf("%q tells the visitor about our disk", refused.Sentence)
	}
	h.mu.Lock()
	h.refuse = nil
	h.mu.Unlock()
	for range 3 {
		if err := h.client().Post(t.Context(), "message-1", "hi"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"hi"}, h.texts()); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestStop(t *testing.T) {
	h := open(t, nil)
	if status, sentence := h.ask(t, "POST", "/stop", strings.NewReader(`{"id": "stop-1234"}`)); status != 200 {
		t.Fatalf("answer = %d %q, want 200", status, sentence)
	}
	for range 2 { // without a body every stop is a new one
		if status, sentence := h.ask(t, "POST", "/stop", nil); status != 200 {
			t.Fatalf("answer = %d %q, want 200", status, sentence)
		}
	}
	if diff := cmp.Diff([]string{"/stop", "/stop", "/stop"}, h.texts()); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestFeedPages(t *testing.T) {
	h := open(t, nil)
	for i := range 300 {
		h.commit(fmt.Sprintf("out-%d", i), "a\x00b\xff")
	}
	items, err := h.client().Feed(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 200 || items[199].Seq != 300 || items[0].Text != "ab\uFFFD" {
		t.Errorf("Feed = %d items, the last %d, text %q; want 200, 300 and clean text", len(items), items[199].Seq, items[0].Text)
	}
	items, err = h.client().Feed(t.Context(), items[0].Seq, 2)
	if err != nil || len(items) != 2 || items[1].Seq != 100 {
		t.Errorf("the page before = %v, %v; want the items 99 and 100", items, err)
	}
}

func TestNotRunning(t *testing.T) {
	hub, err := live.New(live.Options{Name: "web", Room: "default", Feed: (&house{}).readFeed, Visitor: livetest.Alone})
	if err != nil {
		t.Fatal(err)
	}
	_, err = hub.Send(t.Context(), channels.Outbound{Key: room, ID: "out", Text: "x"})
	if notSent := (*channels.NotSent)(nil); !errors.As(err, &notSent) {
		t.Errorf("Send = %v, want NotSent", err)
	}
	for _, k := range []string{"other:default", "web:No Room"} {
		if _, err := hub.Send(t.Context(), channels.Outbound{Key: channels.MustKey(k), ID: "out", Text: "x"}); !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("Send to %s = %v, want ErrPermanent", k, err)
		}
	}
}

// Each room of the page is a separate conversation; a request without a name gets the
// default room.
func TestRooms(t *testing.T) {
	h := open(t, nil)
	for name, want := range map[string]string{"": "web:default", "default": "web:default", "work": "web:work"} {
		c := h.client()
		c.Room = name
		if err := c.Post(t.Context(), "message-"+name, "hello"); err != nil {
			t.Fatal(err)
		}
		if got := h.took[len(h.took)-1].Key.String(); got != want {
			t.Errorf("a message in the room %q has the key %s, want %s", name, got, want)
		}
	}
}
