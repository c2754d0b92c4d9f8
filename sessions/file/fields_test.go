package file_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dragoman/sessions"
	"dragoman/sessions/file"
)

// imported is a closed store with a conversation that an import gave fields of
// others.
func imported(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "hello")
	say(t, s, "x:1", "2", "again")
	must(t, s.Configure(t.Context(), key("x:1"), func(set *sessions.Settings) {
		set.Metadata = map[string]json.RawMessage{
			sessions.FieldsName: json.RawMessage(`{"Title":"another","head":"ours","owner":{"id":"<7>"}}`), "own": json.RawMessage("1"),
		}
	}))
	must(t, s.Close())
	if text := compact(t, p, "conversations/x_1.json"); !strings.Contains(text, `,"Title":"another","owner":{"id":"<7>"},"sum":`) {
		t.Fatalf("the fields are not at the top of\n%s", text)
	}
	return p
}

// metadata is what s keeps for x:1.
func metadata(t *testing.T, s *file.Store) map[string]json.RawMessage {
	t.Helper()
	c, err := s.Conversation(t.Context(), key("x:1"))
	must(t, err)
	return c.Metadata
}

// Case 42: a document that is damaged or gone takes no fields of others with
// it, neither at once nor with what is written next.
func TestCase42ForeignFieldsOfDamagedDocument(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"cut":     func(path string) error { return os.Truncate(path, 200) },
		"removed": os.Remove,
	} {
		for _, lost := range []string{"nothing", "index.json"} {
			if name == "removed" && lost != "nothing" {
				continue // nothing tells of the conversation but its archive
			}
			t.Run(name+" and lost "+lost, func(t *testing.T) {
				p := imported(t)
				s := p.open(t)
				want := metadata(t, s)
				must(t, s.Close())
				must(t, damage(p.path("conversations/x_1.json")))
				if lost != "nothing" {
					must(t, os.Remove(p.path(lost)))
				}
				for _, tag := range []string{"q", "r"} {
					s = p.open(t)
					same(t, "before "+tag, metadata(t, s), want)
					must(t, s.Configure(t.Context(), key("x:1"), func(set *sessions.Settings) { set.Tags = append(set.Tags, tag) }))
					same(t, "after "+tag, metadata(t, s), want)
					must(t, s.Close())
					if text := compact(t, p, "conversations/x_1.json"); !strings.Contains(text, `,"Title":"another","owner":{"id":"<7>"},"sum":`) {
						t.Errorf("the fields are not at the top of\n%s", text)
					}
				}
			})
		}
	}
}

// fieldsOf are the fields of others that s keeps for x:1.
func fieldsOf(t *testing.T, s *file.Store) (fields map[string]json.RawMessage) {
	t.Helper()
	if raw, ok := metadata(t, s)[sessions.FieldsName]; ok {
		must(t, json.Unmarshal(raw, &fields))
	}
	return fields
}

// lengths are how long the fields of others are that s keeps for x:1.
func lengths(t *testing.T, s *file.Store) map[string]int {
	t.Helper()
	all := map[string]int{}
	for name, v := range fieldsOf(t, s) {
		all[name] = len(v)
	}
	return all
}

// Up to 64 KiB that are new at the top go along, and of one byte more nothing.
// Whatever it is, what went along before goes on, and nothing leaves the
// document.
func TestNewForeignFieldsUpToALimit(t *testing.T) {
	const most = 64<<10 - len(`"more":"<>",`) - len(`"n":1,`)
	for name, tt := range map[string]struct {
		long int
		want map[string]int
	}{
		"all of it":     {most, map[string]int{"owner": 22, "Title": 9, "head": 6, "more": most + 14, "n": 1}},
		"one byte more": {most + 1, map[string]int{"owner": 22, "Title": 9, "head": 6}},
	} {
		for _, lost := range []string{"nothing", "index.json"} {
			t.Run(name+" and lost "+lost, func(t *testing.T) {
				p := imported(t)
				edit(t, p, "conversations/x_1.json", `"format": 2,`, `"format": 2, "more": "<>`+strings.Repeat("m", tt.long)+`", "n": 1,`)
				for n := range 3 {
					if lost != "nothing" {
						must(t, os.Remove(p.path(lost)))
					}
					s := p.open(t)
					same(t, "what goes along", lengths(t, s), tt.want)
					say(t, s, "x:1", number("more", n), "more")
					must(t, s.Close())
					text := compact(t, p, "conversations/x_1.json")
					for _, field := range []string{`,"owner":{"id":"<7>"}`, `,"Title":"another"`, `,"n":1`, `,"more":"<>` + strings.Repeat("m", tt.long) + `"`} {
						if !strings.Contains(text, field) {
							t.Errorf("time %d: %.40s is not in the document", n, field)
						}
					}
					u, err := file.FindUncarried(p.dir)
					must(t, err)
					same(t, "documents with more than goes along", u.Fields == 0, tt.want["n"] == 1)
				}
			})
		}
	}
}

// What goes along may grow: each time something new comes to it, all stays
// where it stands. An edit of it is as good as a new field.
func TestForeignFieldsGrow(t *testing.T) {
	p := imported(t)
	long := strings.Repeat("<m>", 20<<10)
	for _, name := range []string{"a", "b", "c"} {
		edit(t, p, "conversations/x_1.json", `"format": 2,`, `"format": 2, "`+name+`": "`+long+`",`)
		s := p.open(t)
		say(t, s, "x:1", name, "more")
		must(t, s.Close())
	}
	s := p.open(t)
	escaped := 2 + len(long) + 10*len(long)/3 // < and > as Go escapes them
	same(t, "what goes along", lengths(t, s), map[string]int{"owner": 22, "Title": 9, "head": 6, "a": escaped, "b": escaped, "c": escaped})
	must(t, s.Close())
	if text := compact(t, p, "conversations/x_1.json"); !strings.Contains(text, `,"Title":"another","a":"<m>`) || strings.Count(text, `"metadata":{"imported_fields":{"head":"ours"}`) != 1 {
		t.Errorf("the document is\n%.2000s", text)
	}
	edit(t, p, "conversations/x_1.json", `"a": "<m>`, `"a": "much `+long)
	s = p.open(t)
	say(t, s, "x:1", "edited", "more")
	same(t, "what goes along", lengths(t, s), map[string]int{"owner": 22, "Title": 9, "head": 6, "b": escaped, "c": escaped})
	must(t, s.Close())
	if text := compact(t, p, "conversations/x_1.json"); !strings.Contains(text, `"a":"much <m>`) {
		t.Errorf("the document is\n%.2000s", text)
	}
}

// A field that the document alone has stays there, though settings come to
// have one of its name, and though they lose all that they had.
func TestLongForeignFieldsBesideOthers(t *testing.T) {
	p := imported(t)
	edit(t, p, "conversations/x_1.json", `"format": 2,`, `"format": 2, `+longFields+`,`)
	for _, set := range []string{`{"endless":7,"owner":8}`, `{}`, `{"owner":9}`} {
		s := p.open(t)
		must(t, s.Configure(t.Context(), key("x:1"), func(all *sessions.Settings) {
			all.Metadata = map[string]json.RawMessage{sessions.FieldsName: json.RawMessage(set)}
		}))
		for range 2 {
			must(t, s.Close())
			text := string(read(t, p.path("conversations/x_1.json")))
			if strings.Count(text, longFields) != 1 || strings.Count(text, "\n  \"endless\": ") != 1 {
				t.Errorf("with %s the long field is not in the document once: %d bytes", set, len(text))
			}
			s = p.open(t)
			raw, err := json.Marshal(fieldsOf(t, s))
			must(t, err)
			same(t, "fields", strings.ReplaceAll(string(raw), "null", "{}"), set)
		}
		must(t, s.Close())
	}
}
