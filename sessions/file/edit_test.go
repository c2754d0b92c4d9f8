package file_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/file"
)

// edit replaces what a document says, as a person with an editor does.
func edit(t *testing.T, p *place, name, from, to string) []byte {
	t.Helper()
	old := read(t, p.path(name))
	edited := bytes.Replace(old, []byte(from), []byte(to), 1)
	if bytes.Equal(old, edited) {
		t.Fatalf("%s has no %q", name, from)
	}
	must(t, os.WriteFile(p.path(name), edited, 0o600))
	return edited
}

func titled(t *testing.T, s *engine.Store, k channels.Key) string {
	t.Helper()
	c, err := s.Conversation(t.Context(), k)
	must(t, err)
	return c.Title
}

// A title that was edited by hand counts, with the rows and without them, until the
// next rename.
func TestEditedTitle(t *testing.T) {
	for _, lost := range []string{"", "rows.db"} {
		t.Run("lost "+lost, func(t *testing.T) {
			p := newPlace(t)
			s := p.open(t)
			say(t, s, "x:1", "1", "one")
			must(t, s.Rename(t.Context(), key("x:1"), "before"))
			must(t, s.Close())
			edit(t, p, "conversations/x_1.json", `"title": "before"`, `"title": "afterwards"`)
			if lost != "" {
				must(t, os.Remove(p.path(lost)))
			}
			for range 2 {
				s = p.open(t)
				if got := titled(t, s, key("x:1")); got != "afterwards" {
					t.Errorf("the title is %q", got)
				}
				must(t, s.Close())
			}
			s = p.open(t)
			say(t, s, "x:1", "2", "two")
			must(t, s.Close())
			if text := read(t, p.path("conversations/x_1.json")); bytes.Count(text, []byte("before")) > 0 || bytes.Count(text, []byte("afterwards")) != 1 {
				t.Errorf("the document after the next message is\n%s", text)
			}
			s = p.open(t)
			must(t, s.Rename(t.Context(), key("x:1"), ""))
			must(t, s.Close())
			if got := titled(t, p.open(t), key("x:1")); got != "" {
				t.Errorf("the title is %q, want none", got)
			}
		})
	}
}

// Metadata that was edited by hand counts as a title does.
func TestEditedMetadata(t *testing.T) {
	for _, lost := range []string{"", "rows.db"} {
		t.Run("lost "+lost, func(t *testing.T) {
			p := newPlace(t)
			s := p.open(t)
			say(t, s, "x:1", "1", "one")
			set := func(set *sessions.Settings) error {
				set.Model, set.Metadata = "m", map[string]json.RawMessage{"a": json.RawMessage(`1`), "b": json.RawMessage(`"gone"`)}
				return nil
			}
			must(t, s.Configure(t.Context(), key("x:1"), set))
			must(t, s.Close())
			edit(t, p, "conversations/x_1.json", `"b": "gone"`, `"c": {"d": [2]}`)
			if lost != "" {
				must(t, os.Remove(p.path(lost)))
			}
			for range 2 {
				s = p.open(t)
				c, err := s.Conversation(t.Context(), key("x:1"))
				must(t, err)
				same(t, "settings", c.Settings, sessions.Settings{Model: "m", Metadata: map[string]json.RawMessage{"a": json.RawMessage(`1`), "c": json.RawMessage(`{"d":[2]}`)}})
				must(t, s.Close())
			}
		})
	}
}

// Foreign fields stay as they are, wherever at the top of the document they were put,
// until the conversation is deleted.
func TestForeignFields(t *testing.T) {
	for _, lost := range []string{"", "rows.db", "archive/x_1.jsonl"} {
		t.Run("lost "+lost, func(t *testing.T) {
			p := newPlace(t)
			s := p.open(t)
			say(t, s, "x:1", "1", "one")
			say(t, s, "x:2", "2", "two")
			must(t, s.Close())
			edit(t, p, "conversations/x_1.json", `"messages"`, `"zeta": {"list": [1, "<2>", {}], "deep": {"b": null, "a": 1.50}},
  "messages"`)
			edit(t, p, "conversations/x_1.json", `"head"`, `"alpha": "α", "head"`)
			if lost != "" {
				must(t, os.Remove(p.path(lost)))
			}
			stays := func() {
				t.Helper()
				var doc map[string]json.RawMessage
				text := read(t, p.path("conversations/x_1.json"))
				if err := json.Unmarshal(text, &doc); err != nil {
					t.Fatalf("%v:\n%s", err, text)
				}
				var zeta bytes.Buffer
				must(t, json.Compact(&zeta, doc["zeta"]))
				if zeta.String() != `{"list":[1,"<2>",{}],"deep":{"b":null,"a":1.50}}` || string(doc["alpha"]) != `"α"` || doc["messages"] == nil {
					t.Errorf("the document is now\n%s", text)
				}
			}
			for n := range 3 {
				s = p.open(t)
				_, err := s.SearchAll(t.Context(), sessions.Search{Key: key("x:1"), Query: "one", Limit: 9}) // which misses the archive
				must(t, err)
				say(t, s, "x:1", number("a", n), "more")
				must(t, file.Flush(s))
				say(t, s, "x:1", number("b", n), "more") // the document is not read again for this one
				must(t, s.Close())
				stays()
			}
			if doc := read(t, p.path("conversations/x_2.json")); bytes.Contains(doc, []byte("zeta")) {
				t.Errorf("another document has the fields too:\n%s", doc)
			}
			s = p.open(t)
			must(t, s.Delete(t.Context(), key("x:1")))
			say(t, s, "x:1", "anew", "anew")
			must(t, s.Close())
			if doc := read(t, p.path("conversations/x_1.json")); bytes.Contains(doc, []byte("zeta")) {
				t.Errorf("the fields outlive the conversation:\n%s", doc)
			}
		})
	}
}

// The rows are newer than a document that was not written before a crash.
func TestEditedTitleAfterCrash(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	must(t, s.Rename(t.Context(), key("x:1"), "before"))
	must(t, s.Close())
	s = p.open(t)
	must(t, s.Rename(t.Context(), key("x:1"), "newest"))
	left := p.crash(t)
	edit(t, left, "conversations/x_1.json", `"title": "before"`, `"title": "edited"`)
	if got := titled(t, left.open(t), key("x:1")); got != "newest" {
		t.Errorf("the title is %q", got)
	}
}

// A document of a newer version, whatever its shape, is not damaged: the store refuses
// to open and leaves it as it is.
func TestNewerDocument(t *testing.T) {
	for name, put := range map[string]string{"format": `"format": 7`, "shape": `"messages_by_day": true, "lsn": "7", "format": 7`} {
		for _, lost := range []string{"", "rows.db"} {
			t.Run(name+" "+lost, func(t *testing.T) {
				p := newPlace(t)
				s := p.open(t)
				say(t, s, "x:1", "1", "one")
				say(t, s, "x:2", "2", "two")
				must(t, s.Close())
				newer := edit(t, p, "conversations/x_1.json", `"format": 3`, put)
				if lost != "" {
					must(t, os.Remove(p.path(lost)))
				}
				for range 2 {
					if _, err := openAt(t, p.dir); err == nil || !strings.Contains(err.Error(), "newer version of dragoman wrote ") {
						t.Errorf("Open = %v", err)
					}
				}
				if got := read(t, p.path("conversations/x_1.json")); !bytes.Equal(got, newer) || len(p.aside(t)) > 0 {
					t.Errorf("the document of a newer version was changed, or set aside: %v", p.aside(t))
				}
				edit(t, p, "conversations/x_1.json", put, `"format": 3`)
				if ms, err := p.open(t).Messages(t.Context(), key("x:1"), 0, 9); err != nil || len(ms) != 1 {
					t.Errorf("Messages = %+v, %v", ms, err)
				}
			})
		}
	}
}

// Case 48: a name of ours in other letters is a foreign field, whatever its value, and
// no damage.
func TestCase48NamesInOtherLettersAreNoDamage(t *testing.T) {
	for _, field := range []string{`"Created":"yesterday"`, `"KEY":"my own"`, `"FORMAT":99`, `"Format":"mine"`, `"LSN":-1`, `"HEAD":[]`} {
		t.Run(field, func(t *testing.T) {
			p := imported(t)
			edit(t, p, "conversations/x_1.json", `"format": 3,`, `"format": 3, `+field+`,`)
			s := p.open(t)
			say(t, s, "x:1", "more", "more")
			must(t, s.Close())
			if text := compact(t, p, "conversations/x_1.json"); !strings.Contains(text, ","+field) {
				t.Errorf("the field is not in\n%s", text)
			}
			p.quiet(t)
		})
	}
}
