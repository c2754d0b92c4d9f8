package exchange_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
	"dragoman/sessions/memory"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// conversation is what records come to.
type conversation struct {
	sessions.ConversationRecord
	messages []sessions.Message
}

// readAll reads records to the end.
func readAll(r *exchange.Reader) ([]conversation, error) {
	var out []conversation
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		switch {
		case rec.Conversation != nil:
			out = append(out, conversation{ConversationRecord: *rec.Conversation})
		case rec.Messages != nil:
			last := &out[len(out)-1]
			if last.Key != rec.Messages.Key {
				return out, errors.New("messages of another conversation")
			}
			last.messages = append(last.messages, rec.Messages.Messages...)
		}
	}
}

func open(t *testing.T, path string, o exchange.Options) *exchange.Reader {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	r, err := exchange.Open(t.Context(), filepath.Join("testdata", path), o)
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
		Settings:  sessions.Settings{Metadata: map[string]json.RawMessage{exchange.FieldsName: raw(`{"channel_state":{"pinned":true}}`)}},
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
	same(t, "the unknown fields", string(c.Settings.Metadata[exchange.FieldsName]), `{"scope":{"agent":"main"}}`)
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
	if len(notes) != 1 || !strings.Contains(notes[0], "message 7, of the system") {
		t.Errorf("notes = %q", notes)
	}
	parts := `[{"type": "text", "text": "What is in this picture?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]`
	want := []sessions.Message{
		{Role: "user", Content: "What is in this picture?\n[image_url]", Extra: map[string]json.RawMessage{"content": raw(parts)}},
		{Role: "assistant", ToolCalls: []sessions.ToolCall{{ID: "call_1", Name: "look", Arguments: `{"n":1}`}}},
		{Role: "tool", Name: "look", Content: "a cat", ToolCallID: "call_1"},
		{Role: "assistant", Content: "A cat.", Extra: map[string]json.RawMessage{"refusal": raw("null")}},
		{Role: "user", Content: "[system message] Be kinder.", Synthetic: true},
		{Role: "user", Content: "[result of orphan] 42", Synthetic: true},
		{
			Role: "assistant", ToolCalls: []sessions.ToolCall{{ID: "x", Name: "sum", Arguments: `{"a": 1}`}},
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

// write exports what a reader reads.
func write(t *testing.T, r *exchange.Reader, format exchange.Format) string {
	t.Helper()
	var b bytes.Buffer
	w, err := exchange.NewWriter(&b, format, exchange.WriterOptions{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Put(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Case 48: what went in comes out again, and in once more, the fields included
// that nobody here knows.
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

func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		in, want string
		o        exchange.Options
	}{
		"empty":               {in: " \n\n", want: "the file is empty"},
		"text":                {in: "hello", want: "neither JSON"},
		"cut off":             {in: `{"key":"a:b","messages":[{"role":"user","content":"x"}`, want: "the file ends in the middle"},
		"cut off in a list":   {in: `[{"role":"user","content":"x"},`, want: "the file ends in the middle"},
		"no messages":         {in: `{"title":"x"}`, want: "has no messages"},
		"bad key":             {in: `{"key":"heartbeat","messages":[]}`, want: "no usable key"},
		"key with NUL":        {in: `{"key":"a:\u0000","messages":[]}`, want: "no usable key"},
		"key is a number":     {in: `{"key":7,"messages":[]}`, want: "the key is no text"},
		"no role":             {in: `{"key":"a:b","messages":[{"role":"user"},{"content":"x"}]}`, want: "message 2: unexpected content: a message without a role"},
		"other role":          {in: `{"key":"a:b","messages":[{"role":"narrator","content":"x"}]}`, want: `message 1 has the role "narrator"`},
		"content is a number": {in: `{"key":"a:b","messages":[{"role":"user","content":7}]}`, want: "neither text nor a list"},
		"numbers in a list":   {in: `[1,2]`, want: "no objects"},
		"empty list":          {in: `[]`, want: "there is no conversation"},
		"messages twice":      {in: `{"messages":[],"messages":[]}`, want: "twice"},
		"damaged log":         {in: "{\"role\":\"user\",\"content\":\"x\"}\n{\"content\":\"y\"}\n", want: "read line 2"},
		"two, one key":        {in: `[{"messages":[]},{"messages":[]}]`, want: "more than one", o: exchange.Options{Key: channels.MustKey("a:b")}},
		"records, cut off":    {in: `{"conversation":{"key":"a:b"}}` + "\n" + `{"messages":{"key":"a:b","mess`, want: "read line 2"},
		"records, unknown":    {in: `{"conversation":{"key":"a:b"}}` + "\n" + `{"future":{}}`, want: "read line 2"},
		"records, two a line": {in: `{"conversation":{"key":"a:b"}}` + "\n" + `{"fact":{"scope":"x"},"job":{"job":"y"}}`, want: "it holds 2 records"},
		"records, run on":     {in: `{"conversation":{"key":"a:b"}}` + "\n" + `{"fact":{"scope":"x"}}{"fact":{"scope":"y"}}`, want: "something follows its record"},
		"records, no key":     {in: `{"conversation":{}}`, want: "no usable key"},
		"seqs out of order":   {in: `{"key":"a:b","messages":[{"role":"user","seq":2},{"role":"user","seq":2}],"generations":[{"id":"20260101_001","first_seq":1,"last_seq":2}]}`, want: "seq 2 after 2"},
		"a database":          {in: "SQLite format 3\x00...", want: "cannot be read from here"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := exchange.NewReader(strings.NewReader(tt.in), tt.o)
			if err == nil {
				_, err = readAll(r)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q in it", err, tt.want)
			}
			if err != nil && !errors.Is(err, exchange.ErrFormat) && !errors.Is(err, exchange.ErrNoKey) {
				t.Errorf("the error %v is neither ErrFormat nor ErrNoKey", err)
			}
		})
	}
}

// A log of damage costs no memory for words about it.
func TestNotesAreBounded(t *testing.T) {
	log := `{"role":"user","content":"x"}` + "\n" + strings.Repeat("!\n", 5000)
	r, err := exchange.NewReader(strings.NewReader(log), exchange.Options{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(r); err != nil {
		t.Fatal(err)
	}
	notes := r.Notes()
	if len(notes) != 1001 || notes[1000] != "4000 things more, of the same kind" {
		t.Errorf("%d notes, the last is %q", len(notes), notes[len(notes)-1])
	}
}

// Case 44 at the border: a line of 12 MB.
func TestCase44LongLine(t *testing.T) {
	long := strings.Repeat("x", 12<<20)
	in := `{"role":"user","content":"` + long + `"}` + "\n" + `{"role":"assistant","content":"short"}` + "\n"
	r, err := exchange.NewReader(strings.NewReader(in), exchange.Options{Name: "long"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := readAll(r)
	if err != nil || len(all) != 1 || len(all[0].messages) != 2 || all[0].messages[0].Content != long {
		t.Errorf("a message of 12 MB: %d conversations, %v", len(all), err)
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

// A parser survives everything, and what it accepts can be written, read again
// and written the same.
// FuzzReader reads anything. What can be read is written in our own form, and
// that form is read again as the same.
func FuzzReader(f *testing.F) {
	for _, file := range []string{"picoclaw/telegram_123456.json", "picoclaw/cli_direct.jsonl", "picoclaw/whatsapp.jsonl", "openai.json", "openai-bare.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"conversation":{"key":"a:b"}}` + "\n" + `{"messages":{"key":"a:b","messages":[{"seq":1,"role":"user","content":"x","at":"2026-01-01T00:00:00Z"}]}}`))
	f.Add([]byte(everyRecord))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, format, err := readRecords(bytes.NewReader(data), exchange.Options{Name: "fuzz", Now: func() time.Time { return now }})
		if err != nil {
			return
		}
		own := exchange.JSON
		if format == exchange.JSONL {
			own = exchange.JSONL
		}
		first := encode(t, own, records)
		if first == "" {
			return // there was nothing in it, and a file of nothing is refused
		}
		copied, _, err := readRecords(strings.NewReader(first), exchange.Options{Format: own, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatalf("our own %s is refused: %v\n%s", own, err, first)
		}
		if second := encode(t, own, copied); second != first {
			t.Errorf("(-first +second):\n%s", cmp.Diff(first, second))
		}
		restoreTwice(t, records)
	})
}

// everyRecord is a line of each kind, as a store writes them.
const everyRecord = `{"store":{"name":"cafe","days":{"20261121":2},"erased":["00ff"]}}
{"conversation":{"key":"a:b","seq":4,"message_seq":2,"title":"t","created":"2026-11-21T09:00:00Z","updated":"2026-11-21T09:00:00Z","generations":[{"id":"20261121_001","first_seq":1,"last_seq":2,"began":"2026-11-21T09:00:00Z"}],"summaries":[{"text":"s","covers_seq":1,"generation":"20261121_001","at":"2026-11-21T09:00:00Z","fields":{"a":1}}],"settings":{"model":"m","tags":["x"],"metadata":{"n":42}}}}
{"messages":{"key":"a:b","messages":[{"seq":1,"role":"user","content":"x","at":"2026-11-21T09:00:00Z","extra":{"id":7}},{"seq":2,"role":"assistant","content":"","tool_calls":[{"id":"1","name":"clock","arguments":"{}"}],"at":"2026-11-21T09:00:00Z","usage":{"input":1,"output":2}}]}}
{"inbox":{"seq":3,"inbound":{"key":"a:b","id":"1","text":"hi","sender":{"ids":["7"]}},"origin":"chat","state":"waiting","turn":"t","accepted":"2026-11-21T09:00:00Z","steps":[{"kind":"note"}],"job":"j","job_due":"2026-11-21T08:00:00Z"}}
{"outbox":{"id":"out-1","key":"a:b","seq":4,"text":"yes","state":"queued","created":"2026-11-21T09:00:00Z"}}
{"aside":{"channel":"a","id":"9","raw":"AP8=","why":"odd","at":"2026-11-21T09:00:00Z"}}
{"fact":{"scope":"s","id":1,"text":"f","at":"2026-11-21T09:00:00Z"}}
{"pairing":{"channel":"a","person_id":"7","name":"Ann","code":"ABCD","expires":"2026-11-21T10:00:00Z"}}
{"job":{"job":"j","due":"2026-11-21T09:00:00Z"}}
{"occurrence":{"job":"j","due":"2026-11-21T08:00:00Z","outcome":"ran","at":"2026-11-21T08:00:00Z"}}
`

// A store takes a record of each kind.
func TestEveryRecord(t *testing.T) {
	records, format, err := readRecords(strings.NewReader(everyRecord), exchange.Options{})
	if err != nil || format != exchange.JSONL || len(records) != 10 {
		t.Fatalf("%d records of %s, %v", len(records), format, err)
	}
	restoreTwice(t, records)
	s := memory.New(memory.Options{})
	defer s.Close()
	if err := s.Restore(t.Context(), func() (r sessions.Record, err error) {
		if len(records) == 0 {
			return r, io.EOF
		}
		r, records = records[0], records[1:]
		return r, nil
	}); err != nil || len(recordsOf(t, s)) != 10 {
		t.Errorf("Restore = %v, then there are %d records", err, len(recordsOf(t, s)))
	}
}

// Text that is not UTF-8 is refused, wherever it stands and however it is cut
// into pieces, and not changed in silence.
func TestNotUTF8(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"a document":      {`{"key":"a:b","messages":[{"role":"user","content":"Gr` + "\xfc" + `\u00dfe"}]}`, "no UTF-8 at byte 53"},
		"our own lines":   {strings.Replace(everyRecord, `"title":"t"`, "\"title\":\"\xe4\"", 1), "no UTF-8"},
		"a log":           {`{"role":"user","content":"ok"}` + "\n{\"role\":\"user\",\"content\":\"\xe4\"}\n", "line 2"},
		"the end is torn": {`{"messages":[{"role":"user","content":"` + "\xe2\x82", "no UTF-8"},
		"half of a pair":  {`{"messages":[{"role":"user","content":"` + "\xed\xa0\x80" + `"}]}`, "no UTF-8"},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text)), iotest.DataErrReader(strings.NewReader(c.text))} {
			all, _, err := readRecords(r, exchange.Options{Name: "x"})
			if !errors.Is(err, exchange.ErrFormat) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %d records, %v, want %q", name, len(all), err, c.says)
			}
		}
	}
	good := `{"messages":[{"role":"user","content":"` + strings.Repeat("aß€😀", 20000) + `"}]}`
	for _, r := range []io.Reader{strings.NewReader(good), iotest.OneByteReader(strings.NewReader(good)), iotest.HalfReader(strings.NewReader(good))} {
		if all, _, err := readRecords(r, exchange.Options{Name: "x"}); err != nil || len(all) == 0 {
			t.Errorf("good text: %v", err)
		}
	}
}

func readRecords(r io.Reader, o exchange.Options) (all []sessions.Record, format exchange.Format, err error) {
	reader, err := exchange.NewReader(r, o)
	if err != nil {
		return nil, "", err
	}
	for {
		rec, err := reader.Next()
		if err == io.EOF {
			return all, reader.Format(), nil
		}
		if err != nil {
			return nil, "", err
		}
		all = append(all, rec)
	}
}

// restoreTwice stores records if a store takes them, and what that store holds
// in another, which must then hold the same.
func restoreTwice(t *testing.T, records []sessions.Record) {
	one, two := memory.New(memory.Options{}), memory.New(memory.Options{})
	defer one.Close()
	defer two.Close()
	restore := func(s *memory.Store, list []sessions.Record) error {
		return s.Restore(t.Context(), func() (r sessions.Record, err error) {
			if len(list) == 0 {
				return r, io.EOF
			}
			r, list = list[0], list[1:]
			return r, nil
		})
	}
	if restore(one, records) != nil {
		return
	}
	if err := restore(two, recordsOf(t, one)); err != nil {
		t.Fatalf("what a store holds is refused by another: %v", err)
	}
	if diff := cmp.Diff(encode(t, exchange.JSONL, recordsOf(t, one)), encode(t, exchange.JSONL, recordsOf(t, two))); diff != "" {
		t.Errorf("a store's copy (-want +got):\n%s", diff)
	}
}

func recordsOf(t *testing.T, s *memory.Store) (all []sessions.Record) {
	err := s.Dump(t.Context(), nil, func(r sessions.Record) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func encode(t *testing.T, format exchange.Format, records []sessions.Record) string {
	var b bytes.Buffer
	w, err := exchange.NewWriter(&b, format, exchange.WriterOptions{List: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
