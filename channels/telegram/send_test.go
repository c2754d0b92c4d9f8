package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"

	"github.com/go-telegram/bot"
	"github.com/google/go-cmp/cmp"
)

func (n *network) out(text string) channels.Outbound {
	return channels.Outbound{ID: "out-1", Key: n.Key(), Text: text, Attempt: 1}
}

func TestSendErrorsByClass(t *testing.T) {
	type class struct{ permanent, retry, notSent bool }
	tests := map[string]struct {
		fault botapi.Fault
		want  class
		after time.Duration
		shown int
	}{
		"blocked":         {fault: botapi.Fault{Status: 403, Description: "Forbidden: bot was blocked by the user"}, want: class{retry: true, notSent: true}, after: 30 * time.Minute},
		"no such person":  {fault: botapi.Fault{Status: 403, Description: "Forbidden: user is deactivated"}, want: class{permanent: true}},
		"chat gone":       {fault: botapi.Fault{Status: 400, Description: "Bad Request: chat not found"}, want: class{permanent: true}},
		"token":           {fault: botapi.Fault{Status: 401, Description: "Unauthorized"}, want: class{notSent: true}},
		"no such token":   {fault: botapi.Fault{Status: 404, Description: "Not Found"}, want: class{notSent: true}},
		"flood for years": {fault: botapi.Fault{Status: 429, Description: "Too Many Requests", RetryAfter: 1e10}, want: class{retry: true, notSent: true}, after: 24 * time.Hour},
		"flood":           {fault: botapi.Fault{Status: 429, Description: "Too Many Requests", RetryAfter: 7}, want: class{retry: true, notSent: true}, after: 7 * time.Second},
		"flood, no time":  {fault: botapi.Fault{Status: 429, Description: "Too Many Requests"}, want: class{retry: true, notSent: true}, after: time.Second},
		"server error":    {fault: botapi.Fault{Status: 500, Description: "Internal Server Error"}},
		"proxy":           {fault: botapi.Fault{Status: 502, Body: "<html>"}},
		"proxy's 429":     {fault: botapi.Fault{Status: 429, Body: "<html>"}, want: class{retry: true, notSent: true}, after: time.Second},
		"captive portal":  {fault: botapi.Fault{Status: 200, Body: "<html>welcome"}},
		"dropped":         {fault: botapi.Fault{DropBefore: true}},
		"dropped, stored": {fault: botapi.Fault{DropAfter: true}, shown: 1},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.Break(c.fault)
			_, err := n.open(t, telegram.Options{}).Send(t.Context(), n.out("hello"))
			if err == nil {
				t.Fatal("Send = nil, want an error")
			}
			var retry *channels.Retry
			var notSent *channels.NotSent
			got := class{errors.Is(err, channels.ErrPermanent), errors.As(err, &retry), errors.As(err, &notSent)}
			if got != c.want {
				t.Errorf("Send = %v, class %+v, want %+v", err, got, c.want)
			}
			if retry != nil && retry.After != c.after {
				t.Errorf("Retry.After = %s, want %s", retry.After, c.after)
			}
			if shown := n.Seen(t); len(shown) != c.shown {
				t.Errorf("%d messages shown (%q), want %d", len(shown), shown, c.shown)
			}
		})
	}
}

func TestSendWithoutAConnectionIsNotSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	for _, url := range []string{"http://" + address, "http://no-such-host.invalid"} {
		c, err := telegram.New("telegram", telegram.Options{Token: "1:secret-token", APIURL: url})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Send(t.Context(), channels.Outbound{Key: channels.MustKey("telegram:7"), Text: "x"})
		var notSent *channels.NotSent
		if !errors.As(err, &notSent) || errors.Is(err, channels.ErrPermanent) {
			t.Errorf("Send to %s = %v, want NotSent", url, err)
		}
		noToken(t, "secret-token", err)
	}
}

func noToken(t *testing.T, token string, things ...any) {
	t.Helper()
	for _, thing := range things {
		for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(form, thing); strings.Contains(text, token) {
				t.Errorf("%s shows the token: %s", form, text)
			}
		}
	}
}

func TestSendThatTimesOutIsUncertain(t *testing.T) {
	n := newNetwork(t)
	n.Break(botapi.Fault{Method: "sendMessage", Delay: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := n.open(t, telegram.Options{}).Send(ctx, n.out("x"))
	var notSent *channels.NotSent
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &notSent) || errors.Is(err, channels.ErrPermanent) {
		t.Errorf("Send = %v, want a plain deadline error", err)
	}
}

func TestTokenIsNeverShown(t *testing.T) {
	s, err := botapi.Start("127.0.0.1:0", botapi.Options{Token: "1000:AAsecret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	var log bytes.Buffer
	o := telegram.Options{Token: s.Token(), APIURL: s.URL(), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	m := channels.Outbound{Key: channels.MustKey("telegram:7"), Text: "x"}
	var errs []any
	for _, f := range []botapi.Fault{
		{Status: 400, Description: "Bad Request: bot1000:AAsecret is odd"},
		{DropBefore: true},
		{Status: 401, Description: "Unauthorized: 1000:AAsecret"},
	} {
		heal := s.Break(f)
		c, err := telegram.New("telegram", o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Send(t.Context(), m)
		errs = append(errs, err, c, c.Status())
		if f.Status == 401 {
			errs = append(errs, c.Run(t.Context(), channeltest.NewInbox()))
		}
		heal()
	}
	o.HTTP = &http.Client{Transport: urlInErrors{}}
	c, err := telegram.New("telegram", o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Send(t.Context(), m)
	_, bad := telegram.New("telegram", telegram.Options{Token: "AAsecret is no token"})
	errs = append(errs, err, bad)
	for i, e := range errs {
		if e == nil {
			t.Errorf("error %d is nil", i)
		}
	}
	noToken(t, "AAsecret", append(errs, o, &o, log.String())...)
}

// urlInErrors returns errors that contain the URL, and so the token.
type urlInErrors struct{}

func (urlInErrors) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("no way to %s", r.URL)
}

func TestRefusedMarkupIsSentAsPlainText(t *testing.T) {
	n := newNetwork(t)
	n.Break(botapi.Fault{Method: "sendMessage", Times: 1, Status: 400, Description: "Bad Request: can't parse entities: Unsupported start tag"})
	if _, err := n.open(t, telegram.Options{}).Send(t.Context(), n.out("some **bold** words")); err != nil {
		t.Fatal(err)
	}
	calls := n.Calls("sendMessage")
	if diff := cmp.Diff([]string{"some bold words"}, n.Seen(t)); diff != "" || calls[1].Params["parse_mode"] != "" {
		t.Errorf("shown (-want +got):\n%s\ncalls: %+v", diff, calls)
	}
}

func TestReplies(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	group := n.Group(-77, "Friends")
	said, private := group.Say(n.ann, "question"), n.chat.Say(n.ann, "question")
	for i, reply := range []string{fmt.Sprint(said), "999", "not a number", ""} {
		m := n.out("answer")
		m.Key, m.ReplyTo = channels.MustKey(n.Key().Channel()+":-77"), reply
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Errorf("Send with ReplyTo %q = %v, want nil", reply, err)
		}
		shown := n.Shown(group.ID())
		if last := shown[len(shown)-1]; (last.ReplyTo != nil) != (i == 0) {
			t.Errorf("ReplyTo %q shows %+v", reply, last.ReplyTo)
		}
	}
	preview := channels.Preview{Key: channels.MustKey(n.Key().Channel() + ":-77"), Text: "the beginning", ReplyTo: fmt.Sprint(said)}
	if _, err := c.Preview(t.Context(), preview); err != nil {
		t.Fatal(err)
	}
	if shown := n.Shown(group.ID()); shown[len(shown)-1].ReplyTo == nil {
		t.Error("a preview in a group is not a reply to the question")
	}
	m := n.out("answer")
	m.ReplyTo = fmt.Sprint(private)
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if shown := n.Shown(n.chat.ID()); shown[len(shown)-1].ReplyTo != nil {
		t.Error("an answer in a private chat is a reply to the question")
	}
	if got := n.Calls("sendMessage")[0].Params["link_preview_options"]; got != `{"is_disabled":true}` {
		t.Errorf("link_preview_options = %s, want previews off", got)
	}
}

func TestTopicsAndForeignKeys(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	forum := n.Supergroup(-1005, "forum", true)
	topic := forum.Topic()
	m := n.out("in the topic")
	m.Key = channels.MustKey(fmt.Sprintf("telegram:-1005:%d", topic))
	if _, err := c.Send(t.Context(), m); err != nil || n.Shown(-1005)[0].Topic != topic {
		t.Errorf("Send to a topic = %v, shown %+v", err, n.Shown(-1005))
	}
	for _, key := range []string{"irc:#go", "telegram:x", "telegram:0", "telegram:5:x"} {
		m.Key = channels.MustKey(key)
		if _, err := c.Send(t.Context(), m); !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("Send to %s = %v, want ErrPermanent", key, err)
		}
	}
}

func TestMigratedGroup(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	n.Group(-5, "friends").Migrate(-1005)
	m := n.out("hello")
	m.Key = channels.MustKey("telegram:-5")
	for range 2 {
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if got := n.FromBot(-1005); len(got) != 2 {
		t.Errorf("shown in the supergroup: %q, want both", got)
	}
	if got := n.Count("sendMessage"); got != 3 {
		t.Errorf("%d calls, want 3: the second Send knows the new id", got)
	}
}

func TestEdits(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	first, err := c.Send(t.Context(), n.out("preview"))
	if err != nil {
		t.Fatal(err)
	}
	final := n.out("final")
	final.Edit = first.MessageID
	for range 2 { // The second changes nothing.
		r, err := c.Send(t.Context(), final)
		if err != nil || r.MessageID != first.MessageID {
			t.Fatalf("Send with Edit = %v, %v, want message %s", r, err, first.MessageID)
		}
	}
	if diff := cmp.Diff([]string{"final"}, n.Seen(t)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	n.Break(botapi.Fault{Method: "editMessageText", Times: 1, Status: 429, Description: "Too Many Requests", RetryAfter: 3})
	final.Text = "later"
	var retry *channels.Retry
	if _, err := c.Send(t.Context(), final); !errors.As(err, &retry) || len(n.Seen(t)) != 1 {
		t.Errorf("Send with Edit and 429 = %v, shown %q, want Retry and no new message", err, n.Seen(t))
	}
	n.chat.Delete(1)
	if r, err := c.Send(t.Context(), final); err != nil || r.MessageID != "2" {
		t.Errorf("Send with the Edit deleted = %v, %v, want a new message", r, err)
	}
	said := n.chat.Say(n.ann, "mine")
	final.Edit = fmt.Sprint(said)
	if _, err := c.Send(t.Context(), final); err != nil {
		t.Errorf("Send with another's message as Edit = %v, want a new one", err)
	}
	if diff := cmp.Diff([]string{"later", "later"}, n.Seen(t)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

func TestPreviewsDoNotDelayAnswers(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{PreviewEvery: time.Hour})
	p := channels.Preview{Key: n.Key(), Turn: "t", Note: "web_fetch <x>"}
	id, err := c.Preview(t.Context(), p)
	if err != nil || id == "" {
		t.Fatalf("Preview = %q, %v", id, err)
	}
	if diff := cmp.Diff([]string{"web_fetch <x> …"}, n.Seen(t)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	p.MessageID, p.Text = id, "half"
	var retry *channels.Retry
	if _, err := c.Preview(t.Context(), p); !errors.As(err, &retry) {
		t.Errorf("a second Preview within an hour = %v, want Retry", err)
	}
	m := n.out("whole")
	m.Edit = id
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Errorf("Send while no preview is allowed = %v, want nil", err)
	}
}

func TestFloodOnAPreviewPausesPreviewsOnly(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{PreviewEvery: time.Nanosecond})
	n.Break(botapi.Fault{Method: "sendMessage", Times: 1, Status: 429, Description: "Too Many Requests", RetryAfter: 3600})
	other := keyOf(n.Private(botapi.Person(8, "Bob")))
	for i, k := range []channels.Key{n.Key(), other} {
		var retry *channels.Retry
		if _, err := c.Preview(t.Context(), channels.Preview{Key: k, Text: "x"}); !errors.As(err, &retry) || retry.After < time.Minute {
			t.Errorf("Preview %d = %v, want Retry after an hour", i, err)
		}
	}
	if got := n.Count("sendMessage"); got != 1 {
		t.Errorf("%d calls, want 1: previews pause", got)
	}
	if _, err := c.Send(t.Context(), n.out("answer")); err != nil {
		t.Errorf("Send = %v, want nil", err)
	}
	if err := c.Typing(t.Context(), n.Key()); err != nil || n.Typed(n.chat.ID()) != 1 {
		t.Errorf("Typing = %v, shown %d times", err, n.Typed(n.chat.ID()))
	}
}

func TestTypingBudget(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	for range 200 {
		if err := c.Typing(t.Context(), n.Key()); err != nil {
			t.Fatal(err)
		}
	}
	if got := n.Typed(n.chat.ID()); got == 0 || got > 50 {
		t.Errorf("200 calls of Typing at once showed it %d times, want 1 to 50", got)
	}
	n.Break(botapi.Fault{Method: "sendChatAction", Status: 429, Description: "Too Many Requests", RetryAfter: 60})
	if _, err := c.Send(t.Context(), n.out("answer")); err != nil {
		t.Errorf("Send = %v", err)
	}
}

func TestPreviewsLookUnfinished(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{PreviewEvery: time.Nanosecond})
	id := ""
	for _, text := range []string{"one", "one two", strings.Repeat("many words ", 2000)} {
		var err error
		if id, err = c.Preview(t.Context(), channels.Preview{Key: n.Key(), Text: text, MessageID: id}); err != nil {
			t.Fatal(err)
		}
		seen := n.Seen(t)
		if len(seen) != 1 || !strings.HasSuffix(seen[0], " …") {
			t.Errorf("after a preview of %.20q the chat shows %q, want one message that ends in …", text, seen)
		}
	}
	// The preview of an answer that is longer than one message shows the length so far.
	for _, n2 := range []int{2000, 3000} {
		text := "the beginning " + strings.Repeat("many words ", n2)
		if _, err := c.Preview(t.Context(), channels.Preview{Key: n.Key(), Text: text, MessageID: id}); err != nil {
			t.Fatal(err)
		}
		seen := n.Seen(t)
		if want := fmt.Sprintf("\n\n%d characters so far …", len(text)); len(seen) != 1 || !strings.HasSuffix(seen[0], want) || !strings.HasPrefix(seen[0], "the beginning many") {
			t.Errorf("the chat shows %q, want the beginning and %q", seen, want)
		}
	}
}

// A rendered table is longer than its source.
func TestPreviewOfATableThatGrows(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	text := strings.Repeat("|"+strings.Repeat("x", 30), 20) + "|\n" + strings.Repeat("|-", 20) + "|\n" +
		strings.Repeat(strings.Repeat("|a", 20)+"|\n", 12)
	if pieces := c.Split(n.Key(), text); len(pieces) < 2 || len(text) >= 2048 {
		t.Fatalf("%d bytes make %d pieces, want less than 2048 bytes and 2 or more pieces", len(text), len(pieces))
	}
	if id, err := c.Preview(t.Context(), channels.Preview{Key: n.Key(), Text: text}); err != nil || id == "" {
		t.Errorf("Preview = %q, %v", id, err)
	}
	if seen := n.Seen(t); len(seen) != 1 || !strings.Contains(seen[0], "…") {
		t.Errorf("shown %q, want one message with …", seen)
	}
}

func TestPreviewOfALongAnswer(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	text := strings.Repeat("many words ", 2000)
	id, err := c.Preview(t.Context(), channels.Preview{Key: n.Key(), Text: text})
	if err != nil {
		t.Fatal(err)
	}
	for i, piece := range c.Split(n.Key(), text) {
		m := n.out(piece.Text)
		if i == 0 {
			m.Edit = id
		}
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(strings.Fields(strings.Join(n.Seen(t), " ")), " "); got != strings.TrimSpace(text) {
		t.Errorf("shown %d characters, want %d", len(got), len(text))
	}
	off := n.open(t, telegram.Options{NoPreview: true})
	if id, err := off.Preview(t.Context(), channels.Preview{Key: n.Key(), Text: "x"}); id != "" || err != nil {
		t.Errorf("Preview while off = %q, %v, want nothing", id, err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]telegram.Options{
		"no token":   {},
		"bad token":  {Token: "abc"},
		"path token": {Token: "1:x/../y"},
		"bad url":    {Token: "1:x", APIURL: "ftp://example.org"},
	} {
		if _, err := telegram.New("telegram", o); err == nil {
			t.Errorf("New with %s = nil, want an error", name)
		}
	}
	if _, err := telegram.New("Bad Name", telegram.Options{Token: "1:x"}); err == nil {
		t.Error("New with a bad name = nil, want an error")
	}
}

func benchNetwork(b *testing.B) *botapi.Server {
	s, err := botapi.Start("127.0.0.1:0", botapi.Options{KeepCalls: 10})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	for i := range 200 {
		s.Private(botapi.Person(int64(1+i), "P"))
	}
	return s
}

const benchText = "An answer with **some** markup and `code`, as long as answers usually are, that is two sentences or so."

func BenchmarkSend(b *testing.B) {
	s := benchNetwork(b)
	c, err := telegram.New("telegram", telegram.Options{Token: s.Token(), APIURL: s.URL()})
	if err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Send(context.Background(), channels.Outbound{Key: channels.MustKey("telegram:1"), Text: benchText}); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkSendByLibrary sends the same text with the library's multipart requests.
func BenchmarkSendByLibrary(b *testing.B) {
	s := benchNetwork(b)
	l, err := bot.New(s.Token(), bot.WithServerURL(s.URL()), bot.WithSkipGetMe())
	if err != nil {
		b.Fatal(err)
	}
	html, _ := telegram.Render(benchText)
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.SendMessage(context.Background(), &bot.SendMessageParams{ChatID: 1, Text: html, ParseMode: "HTML"}); err != nil {
				b.Error(err)
			}
		}
	})
}

// A file is sent with its caption and as a reply. If the group became a supergroup, the
// file goes there.
func TestSendFile(t *testing.T) {
	n := newNetwork(t)
	ann := botapi.Person(7, "Ann")
	group := n.Supergroup(-77, "friends", true)
	said := group.Say(ann, "tell me all")
	c := n.open(t, telegram.Options{})
	content := strings.Repeat("all <of> it & more\n", 60_000)
	got, err := c.Send(t.Context(), channels.Outbound{
		ID: "1", Key: keyOf(group), Text: "All of it **is** here.", ReplyTo: fmt.Sprint(said),
		File: &channels.File{Name: "answer.md", Content: content},
	})
	if err != nil || got.MessageID == "" {
		t.Fatalf("Send = %+v, %v, want a message id", got, err)
	}
	shown := n.Shown(group.ID())
	last := shown[len(shown)-1]
	if last.Text != "All of it is here." || last.ReplyTo == nil || last.Document == nil || last.Document.Name != "answer.md" || last.Document.Content != content {
		t.Errorf("the group shows %.200q in reply to %v with %v, want the file", last.Text, last.ReplyTo, last.Document != nil)
	}
	group.Migrate(-1077)
	if _, err := c.Send(t.Context(), channels.Outbound{ID: "2", Key: keyOf(group), Text: "x", File: &channels.File{Name: "answer.md", Content: "y"}}); err != nil {
		t.Errorf("Send to a group with a new id = %v, want nil", err)
	}
}

// Pictures and sound are shown as what they are. What Telegram does not take as a picture is
// sent as a document, and a voice message that the person does not take as a text.
func TestSendFileAsWhatItIs(t *testing.T) {
	opus := "OggS" + strings.Repeat("x", 50)
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 50)
	for name, tt := range map[string]struct {
		file  channels.File
		fault botapi.Fault
		want  string // sort, name, seconds; or the text
	}{
		"voice":           {file: channels.File{Name: "voice.ogg", Kind: channels.AttachmentVoice, Content: opus, Seconds: 3}, want: "voice voice.ogg 3"},
		"picture":         {file: channels.File{Name: "a.png", Kind: channels.AttachmentImage, Content: png}, want: "photo a.png 0"},
		"sound":           {file: channels.File{Name: "a.mp3", Kind: channels.AttachmentAudio, Content: "ID3"}, want: "audio a.mp3 0"},
		"video":           {file: channels.File{Name: "a.mp4", Kind: channels.AttachmentVideo, Content: "ftyp"}, want: "document a.mp4 0"},
		"no picture":      {file: channels.File{Name: "a.png", Kind: channels.AttachmentImage, Content: "no"}, want: "document a.png 0"},
		"a large picture": {file: channels.File{Name: "a.png", Kind: channels.AttachmentImage, Content: png + strings.Repeat("x", 11<<20)}, want: "document a.png 0"},
		"refused voice": {
			file:  channels.File{Name: "voice.ogg", Kind: channels.AttachmentVoice, Content: opus, Instead: "the *words*"},
			fault: botapi.Fault{Method: "sendVoice", Status: 400, Description: "Bad Request: VOICE_MESSAGES_FORBIDDEN"}, want: "the words",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			if tt.fault.Method != "" {
				n.Break(tt.fault)
			}
			c := n.open(t, telegram.Options{})
			if _, err := c.Send(t.Context(), channels.Outbound{ID: "1", Key: keyOf(n.chat), File: &tt.file}); err != nil {
				t.Fatalf("Send = %v", err)
			}
			shown := n.Shown(n.chat.ID())
			last := shown[len(shown)-1]
			got := last.Text
			if d := last.Document; d != nil {
				got = fmt.Sprintf("%s %s %d", d.Sort, d.Name, d.Seconds)
				if d.Content != tt.file.Content {
					t.Error("the file is another one")
				}
			}
			if got != tt.want {
				t.Errorf("the chat shows %q, want %q", got, tt.want)
			}
		})
	}
}
