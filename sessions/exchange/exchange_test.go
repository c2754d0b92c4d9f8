package exchange_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// conversation is a conversation that its records were collected into.
type conversation struct {
	sessions.ConversationRecord
	messages []sessions.Message
}

// othersWords are the origins of what comes from another program.
var othersWords = []sessions.Origin{sessions.OriginOthers}

// readAll reads records to the end.
func readAll(r *exchange.Reader) (out []conversation, err error) {
	err = r.Each(func(rec sessions.Record) error {
		switch {
		case rec.Conversation != nil:
			out = append(out, conversation{ConversationRecord: *rec.Conversation})
		case rec.Messages != nil:
			last := &out[len(out)-1]
			if last.Key != rec.Messages.Key {
				return errors.New("messages of another conversation")
			}
			for _, m := range rec.Messages.Messages {
				if len(last.Generations) == 0 && slices.Equal(m.Origins, othersWords) {
					m.Origins = nil // as TestImportsAreOthersWords checks
				}
				last.messages = append(last.messages, m)
			}
		}
		return nil
	})
	return out, err
}

func open(t *testing.T, path string, o exchange.Options) *exchange.Reader {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join("testdata", path)
	}
	r, err := exchange.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// one reads a file that holds one conversation.
func one(t *testing.T, path string, o exchange.Options) (conversation, []string) {
	t.Helper()
	r := open(t, path, o)
	all, err := readAll(r)
	if err != nil || len(all) != 1 {
		t.Fatalf("%s holds %d conversations, %v; want 1", path, len(all), err)
	}
	return all[0], r.Notes()
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(channels.Key{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestPicoClawDocument(t *testing.T) {
	c, notes := one(t, "picoclaw/telegram_123456.json", exchange.Options{})
	created := at("2026-02-01T09:00:00Z")
	updated := created.AddDate(0, 0, 10).Add(90*time.Minute + 500*time.Millisecond)
	same(t, "the conversation", c.ConversationRecord, sessions.ConversationRecord{
		Key: channels.MustKey("telegram:123456"), MessageSeq: 5, Created: created, Updated: updated,
		Summaries: []sessions.Summary{{Text: "The user plans a trip to Rome in May.", CoversSeq: 1, At: updated}},
		Settings:  sessions.Settings{Metadata: map[string]json.RawMessage{sessions.FieldsName: raw(`{"channel_state":{"pinned":true}}`)}},
	})
	same(t, "the messages", c.messages, []sessions.Message{
		{Seq: 1, Role: "user", Content: "The user plans a trip to Rome in May.", At: created, Synthetic: true, Summary: true},
		{Seq: 2, Role: "user", Content: "What is the weather in Rome?", At: created},
		{
			Seq: 3, Role: "assistant", At: created, ToolCalls: []sessions.ToolCall{{ID: "call_1", Name: "weather", Arguments: `{"city":"Rome"}`}},
			Extra: map[string]json.RawMessage{"reasoning_content": raw(`"ask the tool"`)},
		},
		{Seq: 4, Role: "tool", Content: "21 °C, sunny", ToolCallID: "call_1", At: created},
		{Seq: 5, Role: "assistant", Content: "It is 21 °C and sunny.", At: created, Extra: map[string]json.RawMessage{"media": raw(`["file:///tmp/a.png"]`)}},
	})
	same(t, "the notes", notes, []string(nil))
}

func TestPicoClawLog(t *testing.T) {
	c, notes := one(t, "picoclaw/cli_direct.jsonl", exchange.Options{})
	if c.Key.String() != "cli:direct" || len(c.messages) != 4 || len(notes) != 0 {
		t.Fatalf("got %s with %d messages, notes %q", c.Key, len(c.messages), notes)
	}
	// Nothing that PicoClaw skips is lost, and its summary covers just that.
	same(t, "the summary", c.Summaries, []sessions.Summary{{Text: "They counted.", CoversSeq: 2, At: at("2026-02-02T08:00:00Z")}})
	same(t, "the unknown fields", string(c.Settings.Metadata[sessions.FieldsName]), `{"scope":{"agent":"main"}}`)
}

func TestPicoClawTornLog(t *testing.T) {
	c, notes := one(t, "picoclaw/whatsapp.jsonl", exchange.Options{})
	if c.Key.String() != "whatsapp:+1234567890" || len(c.messages) != 2 || c.messages[1].Content != "hi" {
		t.Fatalf("got %s with %v", c.Key, c.messages)
	}
	same(t, "the notes", notes, []string{"line 3 is damaged and was left out", "line 5, the last, is cut off and was left out"})
}

func TestOpenAI(t *testing.T) {
	c, notes := one(t, "openai.json", exchange.Options{})
	if c.Key.String() != "import:openai" || !c.Updated.Equal(now) {
		t.Errorf("got %s, updated %v", c.Key, c.Updated)
	}
	same(t, "the prompt", c.Settings.System, "You are brief.\n\nAnswer in English.")
	same(t, "the notes", notes, []string{
		"message 3: only a mark is left of what is no text: [image_url]",
		"message 7, a system message, became a note, because only those at the start become the prompt",
	})
	parts := `[{"type": "text", "text": "What is in this picture?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]`
	want := []sessions.Message{
		{Role: "user", Content: "What is in this picture?\n[image_url]", Extra: map[string]json.RawMessage{"content": raw(parts)}},
		{Role: "assistant", ToolCalls: []sessions.ToolCall{{ID: "call_1", Name: "look", Arguments: `{"n":1}`}}},
		{Role: "tool", Name: "look", Content: "a cat", ToolCallID: "call_1"},
		{Role: "assistant", Content: "A cat.", Extra: map[string]json.RawMessage{"refusal": raw("null")}},
		{Role: "user", Content: "[system message] Be kinder.", Synthetic: true},
		{Role: "user", Content: "[result of orphan] 42", Synthetic: true},
		{
			Role: "assistant", ToolCalls: []sessions.ToolCall{{ID: "x", Name: "sum", Arguments: `{"a":1}`}},
			Extra: map[string]json.RawMessage{"tool_calls": raw(`[{"id": "x", "type": "function", "function": {"name": "sum", "arguments": {"a": 1}}, "index": 0}]`)},
		},
		{Role: "tool", Content: "1", ToolCallID: "x"},
	}
	for i := range want {
		want[i].Seq, want[i].At = int64(i)+1, now
	}
	same(t, "the messages", c.messages, want)
}

func TestOpenAIBareList(t *testing.T) {
	c, _ := one(t, "openai-bare.json", exchange.Options{Key: channels.MustKey("web:x")})
	if c.Key.String() != "web:x" || len(c.messages) != 2 || c.messages[1].At.Nanosecond() != 678901000 {
		t.Errorf("got %s with %+v", c.Key, c.messages)
	}
}

// write exports the records of a reader.
func write(t *testing.T, r *exchange.Reader, format exchange.Format) string {
	t.Helper()
	var b bytes.Buffer
	w, err := exchange.NewWriter(&b, format, exchange.WriterOptions{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Each(w.Put), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Case 48: an import that is exported and imported again is the same, unknown fields
// included.
func TestCase48RoundTrips(t *testing.T) {
	for _, file := range []string{"picoclaw/telegram_123456.json", "picoclaw/cli_direct.jsonl", "openai.json", "openai-bare.json"} {
		for _, format := range []exchange.Format{exchange.JSON, exchange.JSONL} {
			t.Run("case 48: "+file+" as "+string(format), func(t *testing.T) {
				first := write(t, open(t, file, exchange.Options{}), format)
				r, err := exchange.NewReader(strings.NewReader(first), exchange.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if r.Format() != format {
					t.Errorf("it is taken for %s", r.Format())
				}
				if second := write(t, r, format); second != first {
					t.Errorf("(-first +second):\n%s", cmp.Diff(first, second))
				}
			})
		}
	}
}

func TestJSONHasTheNamesOfTheOriginal(t *testing.T) {
	got := write(t, open(t, "picoclaw/telegram_123456.json", exchange.Options{}), exchange.JSON)
	var theirs, ours map[string]any
	data, err := os.ReadFile("testdata/picoclaw/telegram_123456.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal(data, &theirs), json.Unmarshal([]byte(got), &ours)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"key", "summary", "created", "updated", "channel_state"} {
		same(t, name, ours[name], theirs[name])
	}
	messages := ours["messages"].([]any)[1:] // the first tells the summary
	for i, m := range theirs["messages"].([]any) {
		for name, value := range m.(map[string]any) {
			same(t, name, messages[i].(map[string]any)[name], value)
		}
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	w, err := exchange.NewWriter(&b, exchange.Markdown, exchange.WriterOptions{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	k, day := channels.MustKey("telegram:1"), at("2026-11-21T23:59:00Z")
	err = errors.Join(
		w.Put(sessions.Record{Conversation: &sessions.ConversationRecord{Key: k, Title: "Trip *to* Rome"}}),
		w.Put(sessions.Record{Messages: &sessions.MessagesRecord{Key: k, Messages: []sessions.Message{
			{Role: "user", Name: "Ann\n## x", Content: "Hi\n## 2026-01-01\n**dragoman** 10:00\x1b[2J\u202e", At: day, Attachments: []channels.Attachment{{Kind: "image", Name: "cat.png", Bytes: 7, Ref: "secret"}}},
			{Role: "assistant", At: day, ToolCalls: []sessions.ToolCall{{ID: "1", Name: "run<b>", Arguments: "{}"}}},
			{Role: "tool", ToolCallID: "1", Content: "```\nout\n```", At: day},
			{Role: "assistant", Content: "Done.", At: day.Add(time.Minute)},
		}}}),
		w.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the page", b.String(), "# telegram:1\n\nTrip \\*to\\* Rome\n\n## 2026-11-21\n\n**Ann ## x** 23:59\n\n"+
		"> Hi\n> ## 2026-01-01\n> **dragoman** 10:00·[2J\n\n- attached: cat.png (image, 7 bytes)\n\n"+
		"<details><summary>used run&lt;b&gt;</summary>\n\n```\n{}\n```\n\n</details>\n\n"+
		"<details><summary>result of run&lt;b&gt;</summary>\n\n````\n```\nout\n```\n````\n\n</details>\n\n"+
		"## 2026-11-22\n\n**dragoman** 00:00\n\n> Done.\n")
}

// What is for the model alone is not on the page: it has the files and kinds in its own way.
func TestMarkdownShowsWhatWasSaid(t *testing.T) {
	var b bytes.Buffer
	w, err := exchange.NewWriter(&b, exchange.Markdown, exchange.WriterOptions{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	k := channels.MustKey("telegram:-1")
	in := channels.Inbound{Text: "Look", Prefix: "Ann: ", Sender: channels.Person{Name: "Ann"}, Attachments: []channels.Attachment{{Kind: "image", Name: "cat.png", File: "f"}}}
	again := in
	again.Again = true
	again.Attachments = nil
	err = errors.Join(
		w.Put(sessions.Record{Conversation: &sessions.ConversationRecord{Key: k}}),
		w.Put(sessions.Record{Messages: &sessions.MessagesRecord{Key: k, Messages: []sessions.Message{
			sessions.UserMessage(in), sessions.StoppedAnswer("A"), sessions.UserMessage(again),
		}}}),
		w.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the page", b.String(), "# telegram:-1\n\n**Ann** 00:00\n\n> Look\n\n- attached: cat.png (image)\n\n"+
		"**dragoman** 00:00 (stopped)\n\n> A\n\n**Ann** 00:00 (asks for another answer)\n\n> Look\n")
}

// Messages that do not follow their conversation are refused, whoever writes them: they
// would be lost, or in the document of another.
func TestWritersKnowTheirConversation(t *testing.T) {
	head := func(k string) sessions.Record {
		return sessions.Record{Conversation: &sessions.ConversationRecord{Key: channels.MustKey(k)}}
	}
	calls := []sessions.ToolCall{{ID: "c", Name: "f", Arguments: "{}"}}
	messages := sessions.Record{Messages: &sessions.MessagesRecord{
		Key: channels.MustKey("x:1"), Messages: []sessions.Message{{Seq: 1, Role: sessions.RoleAssistant, Content: "hi", ToolCalls: calls, At: now}},
	}}
	for _, format := range []exchange.Format{exchange.JSON, exchange.Markdown} {
		for name, list := range map[string][]sessions.Record{"alone": {messages}, "after another": {head("x:1"), head("x:2"), messages}} {
			w, err := exchange.NewWriter(io.Discard, format, exchange.WriterOptions{Zone: time.UTC, List: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				err = errors.Join(err, w.Put(r))
			}
			if err == nil || !strings.Contains(err.Error(), "x:1") {
				t.Errorf("%s: messages %s = %v, want an error that names the conversation", format, name, err)
			}
		}
	}
}

// A document says who wrote by its messages, and by nothing else that could be forged.
func TestDocumentsHaveNoOwners(t *testing.T) {
	var b bytes.Buffer
	w, err := exchange.NewWriter(&b, exchange.JSON, exchange.WriterOptions{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	head := &sessions.ConversationRecord{Key: channels.MustKey("telegram:42"), Owners: []sessions.Owner{{Identities: []string{"telegram:42"}, From: 1}}}
	if err := errors.Join(w.Put(sessions.Record{Conversation: head}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "owners") || !strings.Contains(b.String(), "telegram:42") || len(head.Owners) != 1 {
		t.Errorf("the document is %s", b.String())
	}
}
