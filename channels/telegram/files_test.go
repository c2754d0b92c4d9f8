package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"

	"github.com/google/go-cmp/cmp"
)

func TestInboundFiles(t *testing.T) {
	n := newNetwork(t)
	type fields = map[string]any
	cases := []struct {
		name  string
		extra fields
		text  string
		want  channels.Attachment
	}{
		{
			"photo: the largest size",
			fields{"caption": "look", "photo": []any{
				fields{"file_id": "s", "width": 90, "height": 60, "file_size": 10},
				fields{"file_id": "l", "width": 900, "height": 600, "file_size": 1000},
				fields{"file_id": "m", "width": 300, "height": 200, "file_size": 100},
			}},
			"look",
			channels.Attachment{Kind: channels.AttachmentImage, Type: "image/jpeg", Bytes: 1000, Ref: "l"},
		},
		{
			"document",
			fields{"document": fields{"file_id": "d", "file_name": "a\n../b.pdf", "mime_type": "application/pdf", "file_size": 3_000_000_000}},
			"",
			channels.Attachment{Kind: channels.AttachmentDocument, Name: "a ../b.pdf", Type: "application/pdf", Bytes: 3_000_000_000, Ref: "d"},
		},
		{"voice", fields{"voice": fields{"file_id": "v", "duration": 63, "mime_type": "audio/ogg"}}, "", channels.Attachment{Kind: channels.AttachmentVoice, Name: "1m3s", Type: "audio/ogg", Ref: "v", Seconds: 63}},
		{"audio", fields{"audio": fields{"file_id": "a", "title": "Song", "mime_type": "audio/mpeg"}}, "", channels.Attachment{Kind: channels.AttachmentAudio, Name: "Song", Type: "audio/mpeg", Ref: "a"}},
		{"video", fields{"video": fields{"file_id": "v", "file_name": "x.mp4", "mime_type": "video/mp4"}}, "", channels.Attachment{Kind: channels.AttachmentVideo, Name: "x.mp4", Type: "video/mp4", Ref: "v"}},
		{"video note", fields{"video_note": fields{"file_id": "v", "duration": 5}}, "", channels.Attachment{Kind: channels.AttachmentVideo, Name: "5s", Type: "video/mp4", Ref: "v"}},
		{
			"animation, which is a document too",
			fields{"animation": fields{"file_id": "g", "file_name": "cat.mp4", "mime_type": "video/mp4"}, "document": fields{"file_id": "other"}},
			"",
			channels.Attachment{Kind: channels.AttachmentVideo, Name: "cat.mp4", Type: "video/mp4", Ref: "g"},
		},
		{"sticker", fields{"sticker": fields{"file_id": "s", "emoji": "😀"}}, "", channels.Attachment{Kind: channels.AttachmentSticker, Name: "😀", Type: "image/webp", Ref: "s"}},
		{"video sticker", fields{"sticker": fields{"file_id": "s", "is_video": true}}, "", channels.Attachment{Kind: channels.AttachmentSticker, Type: "video/webm", Ref: "s"}},
		{"no id", fields{"voice": fields{"duration": 1}}, "", channels.Attachment{Kind: channels.AttachmentVoice, Name: "1s", Missing: "Telegram did not say where it is", Seconds: 1}},
	}
	inbox := n.run(t, n.open(t, telegram.Options{}))
	for i, c := range cases {
		n.chat.Post(botapi.Post{From: n.ann, Extra: c.extra})
		n.settled(t)
		all := inbox.Messages()
		if len(all) != i+1 {
			t.Fatalf("%s: %d messages, want %d", c.name, len(all), i+1)
		}
		if all[i].Text != c.text {
			t.Errorf("%s: text = %q, want %q", c.name, all[i].Text, c.text)
		}
		if diff := cmp.Diff([]channels.Attachment{c.want}, all[i].Attachments); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestFetch(t *testing.T) {
	n := newNetwork(t)
	content := bytes.Repeat([]byte("a picture "), 100_000)
	var log bytes.Buffer
	c := n.open(t, telegram.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	id := n.AddFile(content)
	fetch := func(ctx context.Context, ref string) ([]byte, error) {
		var b bytes.Buffer
		err := c.Fetch(ctx, channels.Attachment{Ref: ref}, &b)
		if err != nil && strings.Contains(err.Error(), "TEST-TOKEN") {
			t.Errorf("the error shows the token: %v", err)
		}
		return b.Bytes(), err
	}
	whole := func(when string) {
		t.Helper()
		if b, err := fetch(t.Context(), id); err != nil || !bytes.Equal(b, content) {
			t.Errorf("%s: Fetch = %d bytes, %v, want %d", when, len(b), err, len(content))
		}
	}
	whole("first")
	n.ExpirePaths()
	whole("an hour later")

	var gone *channels.Gone
	if _, err := fetch(t.Context(), n.AddFile(make([]byte, 20<<20+1))); !errors.As(err, &gone) || !errors.Is(err, channels.ErrPermanent) || !strings.Contains(gone.Why, "20 MB") {
		t.Errorf("Fetch of a file that is too large = %v, want Gone with the limit", err)
	}
	for _, ref := range []string{"", "FILE-99"} {
		if _, err := fetch(t.Context(), ref); !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("Fetch(%q) = %v, want a permanent error", ref, err)
		}
	}
	for name, f := range map[string]botapi.Fault{
		"getFile is down":    {Method: "getFile", Status: http.StatusBadGateway, Body: "<html>", Times: 1},
		"getFile is cut off": {Method: "getFile", DropAfter: true, Times: 1},
		"the path expired":   {Method: "file", Status: http.StatusNotFound, Description: "Not Found", Times: 1},
		"the server is down": {Method: "file", Status: http.StatusInternalServerError, Times: 1},
		"cut off before":     {Method: "file", DropBefore: true},
		"cut off halfway":    {Method: "file", DropAfter: true, Times: 1},
	} {
		n.Break(f)
		if _, err := fetch(t.Context(), id); err == nil || errors.Is(err, channels.ErrPermanent) {
			t.Errorf("%s: Fetch = %v, want a temporary error", name, err)
		}
		n.Heal()
		whole("after " + name)
	}
	n.Break(botapi.Fault{Method: "getFile", Status: http.StatusTooManyRequests, RetryAfter: 3})
	var retry *channels.Retry
	if _, err := fetch(t.Context(), id); !errors.As(err, &retry) || retry.After.Seconds() != 3 {
		t.Errorf("Fetch = %v, want a retry after 3 s", err)
	}
	n.Heal()

	full := errors.New("disk full")
	if err := c.Fetch(t.Context(), channels.Attachment{Ref: id}, failing{full}); !errors.Is(err, full) {
		t.Errorf("Fetch = %v, want the writer's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fetch(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch = %v, want canceled", err)
	}
	if strings.Contains(log.String(), "TEST-TOKEN") || strings.Contains(log.String(), id) {
		t.Errorf("the log shows a secret:\n%s", &log)
	}
}

// failing is a writer whose every Write fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A note about what came with a message holds what a person sees on it.
func TestCards(t *testing.T) {
	type fields = map[string]any
	tests := map[string]struct {
		extra fields
		want  string
	}{
		"contact":         {fields{"contact": fields{"first_name": "Bob", "phone_number": "+15550001111"}}, "[contact Bob, +15550001111]"},
		"contact's card":  {fields{"contact": fields{"first_name": "Bob", "last_name": "Lee", "phone_number": "+1", "vcard": "TEL:+1\nEMAIL:b@example.org\nORG:Firm"}}, "[contact Bob Lee, +1, b@example.org, Firm]"},
		"poll":            {fields{"poll": fields{"id": "1", "question": "When?", "options": []fields{{"text": "now"}, {"text": "later"}}}}, "[poll When?: now / later]"},
		"checklist":       {fields{"checklist": fields{"title": "Trip", "tasks": []fields{{"id": 1, "text": "pack", "completion_date": 5}, {"id": 2, "text": "go"}}}}, "[checklist Trip: [x] pack / [ ] go]"},
		"place":           {fields{"venue": fields{"title": "Bar", "address": "1 Main St", "location": fields{"latitude": 1.5, "longitude": 2}}}, "[place Bar, 1 Main St, 1.50000, 2.00000]"},
		"game":            {fields{"game": fields{"title": "Chess", "description": "two play"}}, "[game Chess, two play]"},
		"invoice":         {fields{"invoice": fields{"title": "Tea", "description": "green", "currency": "EUR", "total_amount": 350}}, "[invoice Tea, green, 350 of the smallest unit of EUR]"},
		"lines and marks": {fields{"contact": fields{"first_name": "Bob\nEve:", "phone_number": "+1"}}, "[contact Bob Eve:, +1]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			inbox := n.run(t, n.open(t, telegram.Options{}))
			n.chat.Post(botapi.Post{From: n.ann, Extra: test.extra})
			if got := inbox.Wait(t, 1)[0].Text; got != test.want {
				t.Errorf("text = %q, want %q", got, test.want)
			}
		})
	}
}

// A reply brings the files of the message that it quotes.
func TestQuoteBringsFiles(t *testing.T) {
	type fields = map[string]any
	voice := fields{"file_id": "FILE-2", "file_unique_id": "u", "duration": 3, "mime_type": "audio/ogg"}
	replied := func(more fields) fields {
		m := fields{"message_id": 3, "date": 1, "chat": fields{"id": 7, "type": "private"}, "from": fields{"id": 8, "first_name": "Bob"}}
		for name, value := range more {
			m[name] = value
		}
		return fields{"reply_to_message": m}
	}
	tests := map[string]struct {
		extra fields
		text  string
		refs  string
	}{
		"photo":               {replied(fields{"photo": photoOf("FILE-1")}), "[photo]", "FILE-1"},
		"photo with words":    {replied(fields{"photo": photoOf("FILE-1"), "caption": "my cat"}), "my cat\n[photo]", "FILE-1"},
		"voice":               {replied(fields{"voice": voice}), "[voice message, 3 s]", "FILE-2"},
		"part of the caption": {fields{"quote": fields{"text": "cat"}, "reply_to_message": replied(fields{"photo": photoOf("FILE-1"), "caption": "my cat"})["reply_to_message"]}, "cat", "FILE-1"},
		"from another chat":   {fields{"external_reply": fields{"origin": fields{"type": "hidden_user", "sender_user_name": "Bob", "date": 1}, "message_id": 9, "photo": photoOf("FILE-1")}}, "[photo]", "FILE-1"},
		"text":                {replied(fields{"text": "hello"}), "hello", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			inbox := n.run(t, n.open(t, telegram.Options{}))
			n.chat.Post(botapi.Post{From: n.ann, Text: "what is in this?", Extra: test.extra})
			q := inbox.Wait(t, 1)[0].Quote
			if q == nil || q.Text != test.text {
				t.Fatalf("Quote = %+v, want the text %q", q, test.text)
			}
			refs := ""
			for _, a := range q.Attachments {
				refs += a.Ref
			}
			if refs != test.refs {
				t.Errorf("the quote has the files %q, want %q", refs, test.refs)
			}
		})
	}
}
