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
)

func withFiles(d *livetest.Files) func(*live.Options) {
	return func(o *live.Options) { o.Files, o.MaxFile = d, 1000 }
}

// upload sends a file and returns its reference.
func (h *house) upload(t *testing.T, content string) string {
	t.Helper()
	resp, err := http.Post(h.url+"/files", "application/octet-stream", strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Ref   string `json:"ref"`
		Bytes int    `json:"bytes"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != 200 || got.Bytes != len(content) {
		t.Fatalf("POST /files = %d %+v, %v", resp.StatusCode, got, err)
	}
	return got.Ref
}

func TestFilesComeWithMessages(t *testing.T) {
	d := &livetest.Files{}
	h := open(t, withFiles(d))
	photo, page := h.upload(t, "\x89PNG\r\n\x1a\n and so on"), h.upload(t, "<script>alert(1)</script>")
	body := fmt.Sprintf(`{"id":"message-1","text":"","files":[{"ref":%q,"name":"a\n\"b\"/../c.png","type":"image/png"},{"ref":%q,"name":"page.html","type":"text/html; charset=utf-8"}]}`, photo, page)
	for range 2 { // a retry is harmless
		if status, sentence := h.ask(t, "POST", "/messages", strings.NewReader(body)); status != 200 {
			t.Fatalf("answer = %d %q, want 200", status, sentence)
		}
	}
	h.mu.Lock()
	in := h.took
	h.mu.Unlock()
	if len(in) == 0 || len(in[0].Attachments) != 2 {
		t.Fatalf("taken in: %+v", in)
	}
	first := channels.Attachment{Kind: channels.AttachmentImage, Name: `a "b"/../c.png`, Type: "image/png", Bytes: 18, Ref: photo}
	second := channels.Attachment{Kind: channels.AttachmentDocument, Name: "page.html", Type: "text/html", Bytes: 25, Ref: page}
	if in[0].Attachments[0] != first || in[0].Attachments[1] != second {
		t.Errorf("attachments = %+v, want %+v and %+v", in[0].Attachments, first, second)
	}
	items, err := h.client().Feed(t.Context(), 0, 10)
	if err != nil || len(items) != 1 || len(items[0].Files) != 2 || items[0].Files[0].Ref != "" {
		t.Fatalf("Feed = %+v, %v, want two files without their references", items, err)
	}
	for n, want := range []struct{ kind, how, content string }{
		{"image/png", "inline", "\x89PNG\r\n\x1a\n and so on"},
		{"application/octet-stream", `attachment; filename=page.html`, "<script>alert(1)</script>"},
	} {
		resp, err := http.Get(fmt.Sprintf("%s/file?seq=%d&n=%d", h.url, items[0].Seq, n))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		head := resp.Header
		if resp.StatusCode != 200 || string(content) != want.content || head.Get("Content-Type") != want.kind || !strings.HasPrefix(head.Get("Content-Disposition"), want.how) {
			t.Errorf("file %d = %d %q %q %q", n, resp.StatusCode, head.Get("Content-Type"), head.Get("Content-Disposition"), content)
		}
		if head.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(head.Get("Content-Security-Policy"), "sandbox") || strings.Contains(head.Get("Content-Disposition"), "..") && strings.Contains(head.Get("Content-Disposition"), "/") {
			t.Errorf("file %d is not shown safely: %v", n, head)
		}
	}
}

// The items of a feed may be read by many viewers at once.
func TestFeedIsNotWrittenTo(t *testing.T) {
	h := open(t, nil)
	h.feed.Put(live.Item{ID: "1", From: live.FromPerson, Text: "a\x00b", Files: []live.File{{Name: "c\x00d"}}})
	shown, err := h.client().Feed(t.Context(), 0, 10)
	if err != nil || len(shown) != 1 || shown[0].Text != "ab" || shown[0].Files[0].Name != "cd" {
		t.Fatalf("Feed = %+v, %v, want it without NUL", shown, err)
	}
	if it := h.feed.Items()[0]; it.Text != "a\x00b" || it.Files[0].Name != "c\x00d" {
		t.Errorf("the feed holds %q and %q after it was shown, want what it held before", it.Text, it.Files[0].Name)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	d := &livetest.Files{}
	h := open(t, withFiles(d))
	ref := h.upload(t, "x")
	many := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"ref":%q},`, ref), 11), ",")
	for _, c := range []struct {
		name, method, path, body string
		full                     error
		status                   int
		sentence                 string
	}{
		{"too large", "POST", "/files", strings.Repeat("x", 1001), nil, 413, "at most 1 kB"},
		{"no room", "POST", "/files", "x", &channels.Gone{Why: "no room for more files here"}, 413, "no room"},
		{"disk trouble", "POST", "/files", "x", errors.New("disk"), 503, "Try again"},
		{"odd room", "POST", "/files?room=../x", "x", nil, 404, "no such room"},
		{"a file that is not here", "POST", "/messages", `{"id":"12345678","text":"x","files":[{"ref":"other"}]}`, nil, 400, "Attach it again"},
		{"eleven files", "POST", "/messages", `{"id":"12345678","text":"x","files":[` + many + `]}`, nil, 400, "At most 10"},
		{"unknown field", "POST", "/messages", `{"id":"12345678","text":"x","files":[{"path":"x"}]}`, nil, 400, `"path"`},
		{"a stop with files", "POST", "/stop", `{"id":"12345678","files":[{"ref":"` + ref + `"}]}`, nil, 400, "no text"},
		{"no such file", "GET", "/file?seq=1&n=0", "", nil, 404, "no such file"},
		{"no number", "GET", "/file?seq=-1&n=x", "", nil, 404, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.Fill(c.full)
			status, sentence := h.ask(t, c.method, c.path, strings.NewReader(c.body))
			if status != c.status || !strings.Contains(sentence, c.sentence) {
				t.Errorf("answer = %d %q, want %d with %q", status, sentence, c.status, c.sentence)
			}
		})
	}
	if got := h.texts(); len(got) != 0 {
		t.Errorf("%d refused messages were stored", len(got))
	}
	bare := open(t, nil)
	if status, sentence := bare.ask(t, "POST", "/files", strings.NewReader("x")); status != 400 || !strings.Contains(sentence, "cannot be sent here") {
		t.Errorf("a room without files answers %d %q", status, sentence)
	}
}
