package file_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/file"
)

// withCall says a message with two calls, and what one of them gave.
func withCall(t *testing.T, s *engine.Store, k string) {
	t.Helper()
	say(t, s, k, k+"1", "what time is it?")
	call := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "c1", Name: "time", Arguments: `{"zone":"<UTC>"}`}, {ID: "c2", Name: "f"}}}
	result := sessions.Message{Role: sessions.RoleTool, Content: "twelve", ToolCallID: "c1", Name: "time"}
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in(k, k+"2", "/x"), Answered: true, Append: []sessions.Message{call, result}})
	must(t, err)
}

// theirs are edits of a document of withCall that put fields of others beside
// its messages and into one, and how they read in its shortest form.
var theirs = []struct{ at, with, reads string }{
	{`"format": 3,`, `"format": 3, "zeta": {"l": [1, "<2>", 1.50], "b": null},`, `"zeta":{"l":[1,"<2>",1.50],"b":null}`},
	{`"role": "user",`, `"role": "user", "mood": "g<o>d", "Content": "other letters",`, `"Content":"other letters","mood":"g<o>d"}`},
}

// foreignDocument is a closed store with fields of others in a document.
func foreignDocument(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	s := p.open(t)
	withCall(t, s, "x:1")
	must(t, s.Close())
	for _, e := range theirs {
		edit(t, p, "conversations/x_1.json", e.at, e.with)
	}
	return p
}

// compact is a document in its shortest form.
func compact(t *testing.T, p *place, name string) string {
	t.Helper()
	var b bytes.Buffer
	must(t, json.Compact(&b, read(t, p.path(name))))
	return b.String()
}

// Fields of others stay where they stand, however often the document is
// written, and when their messages are older than what a document
// shows they are in the archive.
func TestCase48ForeignFieldsStay(t *testing.T) {
	for _, lost := range []string{"", "rows.db"} {
		t.Run("lost "+lost, func(t *testing.T) {
			p := foreignDocument(t)
			if lost != "" {
				must(t, os.Remove(p.path(lost)))
			}
			for n := range 3 {
				s := p.open(t)
				say(t, s, "x:1", number("a", n), "more")
				must(t, s.Close())
				text := compact(t, p, "conversations/x_1.json")
				for _, e := range theirs {
					if !strings.Contains(text, e.reads) {
						t.Errorf("time %d: there is no %s in\n%s", n, e.reads, text)
					}
				}
				if strings.Count(text, `"zeta"`) != 1 {
					t.Errorf("time %d: zeta stands in\n%s", n, text)
				}
			}
			s := p.open(t)
			for n := range 250 {
				say(t, s, "x:1", number("b", n), "more")
			}
			must(t, file.Flush(s))
			if text := compact(t, p, "conversations/x_1.json"); strings.Contains(text, "mood") {
				t.Error("the first message is shown still: the test does not test")
			}
			ms, err := s.Messages(t.Context(), key("x:1"), 0, 2)
			must(t, err)
			same(t, "text", ms[0].Content, "what time is it?")
			same(t, "fields", ms[0].Extra, map[string]json.RawMessage{"mood": json.RawMessage(`"g\u003co\u003ed"`), "Content": json.RawMessage(`"other letters"`)})
		})
	}
}

// Nothing is lost of a field whose name is ours or comes twice, and what
// nobody can read as JSON again is kept as text.
func TestForeignFieldsThatClash(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	withCall(t, s, "x:1")
	must(t, s.Configure(t.Context(), key("x:1"), func(set *sessions.Settings) error {
		set.Metadata = map[string]json.RawMessage{sessions.FieldsName: json.RawMessage(`{"head":"clash","mine":"kept"}`)}
		return nil
	}))
	must(t, s.Close())
	if text := compact(t, p, "conversations/x_1.json"); !strings.Contains(text, `"metadata":{"imported_fields":{"head":"clash"}}`) || !strings.Contains(text, `,"mine":"kept"}`) {
		t.Errorf("the document is\n%s", text)
	}
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	edit(t, p, "conversations/x_1.json", "\n  \"mine\": \"kept\"", `"mine": "other", "Title": "t", "TITLE": 7, "bad": "a`+"\xff"+`", "deep": `+deep)
	edit(t, p, "conversations/x_1.json", `"metadata": {`, `"metadata": {"own": 1,`)
	edit(t, p, "conversations/x_1.json", `"head": "clash"`, `"head": "clash", "mine": "kept"`)
	edit(t, p, "conversations/x_1.json", `"role": "user",`, `"role": "user", "deep": `+deep+`, "note": 1, "extra": {"note": 2, "extra": 3, "seq": 9},`)
	for range 2 {
		s = p.open(t)
		c, err := s.Conversation(t.Context(), key("x:1"))
		must(t, err)
		fields := map[string]any{}
		must(t, json.Unmarshal(c.Settings.Metadata[sessions.FieldsName], &fields))
		if fields["deep"] != deep || fields["bad"] != "a\ufffd" || fields["head"] != "clash" || fields["mine"] != "other" || c.Settings.Metadata["own"] == nil {
			t.Errorf("the fields are %.300v", fields)
		}
		// Names in other letters are not ours.
		same(t, "titles", []any{c.Title, fields["Title"], fields["TITLE"]}, []any{"", "t", 7.0})
		same(t, "the one that was there", fields[sessions.FieldsName], any(map[string]any{"mine": "kept"}))
		ms, err := s.Messages(t.Context(), key("x:1"), 0, 1)
		must(t, err)
		same(t, "of the message", ms[0].Extra, map[string]json.RawMessage{
			"deep": json.RawMessage(`"` + deep + `"`), "note": json.RawMessage("1"), "seq": json.RawMessage("9"), "extra": json.RawMessage(`{"extra":3,"note":2}`),
		})
		must(t, s.Close())
		p.quiet(t)
	}
}

// What others wrote goes with what it belongs to.
func TestForeignFieldsAreErased(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(*testing.T, *engine.Store)
		gone string
	}{
		"delete": {func(t *testing.T, s *engine.Store) { must(t, s.Delete(t.Context(), key("x:1"))) }, "zeta mood"},
		"expire": {func(t *testing.T, s *engine.Store) {
			_, err := s.Expire(t.Context(), time.Now().Add(time.Hour), 9)
			must(t, err)
		}, "zeta mood"},
		"erase": {func(t *testing.T, s *engine.Store) {
			_, err := s.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("x:1")}})
			must(t, err)
		}, "zeta mood"},
		"erase a person": {func(t *testing.T, s *engine.Store) {
			_, err := s.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "42"}}})
			must(t, err)
		}, "zeta"},
	} {
		t.Run(name, func(t *testing.T) {
			p := foreignDocument(t)
			s := p.open(t)
			say(t, s, "x:1", "one", "written anew")
			say(t, s, "x:2", "other", "stays")
			must(t, file.Flush(s))
			tt.do(t, s)
			if !strings.HasPrefix(name, "erase") { // documents follow
				must(t, file.Flush(s))
			}
			all := everything(t, p, strings.HasPrefix(name, "erase"))
			for word := range strings.FieldsSeq(tt.gone) {
				if bytes.Contains(all, []byte(`"`+word+`"`)) {
					t.Errorf("%s is left in the files", word)
				}
			}
		})
	}
}

// A person corrects a text while no daemon runs: from then on it is what was
// said, for the model, for searches, for copies, and after its message has
// left the document. What was counted when it was said stays.
func TestEditedText(t *testing.T) {
	for _, lost := range []string{"", "rows.db", "crash"} {
		t.Run("lost "+lost, func(t *testing.T) {
			p := newPlace(t)
			s := p.open(t)
			say(t, s, "x:1", "1", "my adress")
			say(t, s, "x:1", "2", "second")
			must(t, file.Flush(s))
			if lost == "crash" {
				say(t, s, "x:1", "3", "in the log alone")
				p = p.crash(t)
			}
			must(t, s.Close())
			edit(t, p, "conversations/x_1.json", "my adress", "my address")
			if lost == "rows.db" {
				must(t, os.Remove(p.path(lost)))
			}
			for n := range 2 {
				s = p.open(t)
				if found, err := s.SearchAll(t.Context(), sessions.Search{Key: key("x:1"), Query: "address", Limit: 5}); err != nil || len(found) != 1 {
					t.Errorf("time %d: Search = %+v, %v", n, found, err)
				}
				if found, err := s.SearchAll(t.Context(), sessions.Search{Query: "adress", Limit: 5}); err != nil || len(found) != 0 {
					t.Errorf("time %d: the old text is found: %+v, %v", n, found, err)
				}
				c, err := s.Conversation(t.Context(), key("x:1"))
				must(t, err)
				h, err := s.History(t.Context(), key("x:1"), sessions.HistoryLimit{})
				must(t, err)
				if n == 0 && h.Messages[0].Content != "my address" || c.Usage.Input != c.Messages {
					t.Errorf("time %d: %+v, %q", n, c, h.Messages[0].Content)
				}
				for i := range 220 {
					say(t, s, "x:1", number("m", 1000*n+i), "more")
				}
				must(t, s.Close())
			}
			s = p.open(t)
			ms, err := s.Messages(t.Context(), key("x:1"), 0, 1)
			must(t, err)
			same(t, "once it has left the document", ms[0].Content, "my address")
			must(t, s.Close())
			must(t, os.Remove(p.path("conversations/x_1.json")))
			must(t, os.Remove(p.path("rows.db"))) // all is made anew from the archive
			ms, err = p.open(t).Messages(t.Context(), key("x:1"), 0, 1)
			must(t, err)
			same(t, "from the archive", ms[0].Content, "my address")
		})
	}
}

// What stands in a document counts, though the archive is damaged as well.
func TestEditedTextAndDamage(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "my adress")
	say(t, s, "x:1", "2", "second")
	must(t, s.Close())
	edit(t, p, "conversations/x_1.json", "my adress", "my address")
	edit(t, p, "archive/x_1.jsonl", `"seq":2,`, `"seq":(2,`)
	must(t, os.Remove(p.path("rows.db")))
	s = p.open(t)
	if found, err := s.SearchAll(t.Context(), sessions.Search{Key: key("x:1"), Query: "address", Limit: 5}); err != nil || len(found) != 1 {
		t.Errorf("Search = %+v, %v", found, err)
	}
	must(t, s.Close())
	if text := read(t, p.path("archive/x_1.jsonl")); !bytes.Contains(text, []byte("my address")) {
		t.Errorf("the archive is\n%s", text)
	}
}

// An edited text takes the place of the parts that an import made it of.
func TestEditedTextOfParts(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	parts := sessions.Message{Role: sessions.RoleUser, Content: "a cta", Extra: map[string]json.RawMessage{"content": json.RawMessage(`[{"type":"text","text":"a cta"}]`)}}
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "1", "/x"), Answered: true, Append: []sessions.Message{parts}})
	must(t, err)
	must(t, s.Close())
	edit(t, p, "conversations/x_1.json", `"content": "a cta"`, `"content": "a cat"`)
	ms, err := p.open(t).Messages(t.Context(), key("x:1"), 0, 1)
	must(t, err)
	same(t, "the message", ms[0].Extra, map[string]json.RawMessage{"original_content": parts.Extra["content"]})
}

// An edited text is shown whole: what was for the model alone was elsewhere in the former.
func TestEditedTextForModel(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	said := sessions.UserMessage(channels.Inbound{Text: "a cta", Prefix: "ann: "})
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "1", "/x"), Answered: true, Append: []sessions.Message{said}})
	must(t, err)
	must(t, s.Close())
	edit(t, p, "conversations/x_1.json", `"content": "ann: a cta"`, `"content": "a cat"`)
	ms, err := p.open(t).Messages(t.Context(), key("x:1"), 0, 1)
	must(t, err)
	same(t, "the message", ms[0].Said(), "a cat")
}
