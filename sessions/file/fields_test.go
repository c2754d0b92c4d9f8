package file_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// imported is a closed store with a conversation that an import gave foreign fields.
func imported(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "hello")
	say(t, s, "x:1", "2", "again")
	must(t, s.Configure(t.Context(), key("x:1"), func(set *sessions.Settings) error {
		set.Metadata = map[string]json.RawMessage{
			sessions.FieldsName: json.RawMessage(`{"Title":"another","head":"ours","owner":{"id":"<7>"}}`), "own": json.RawMessage("1"),
		}
		return nil
	}))
	must(t, s.Close())
	if text := compact(t, p, "conversations/x_1.json"); !strings.Contains(text, `,"Title":"another","owner":{"id":"<7>"}}`) {
		t.Fatalf("the fields are not at the top of\n%s", text)
	}
	return p
}

// metadata is what s keeps for x:1.
func metadata(t *testing.T, s *engine.Store) map[string]json.RawMessage {
	t.Helper()
	c, err := s.Conversation(t.Context(), key("x:1"))
	must(t, err)
	return c.Settings.Metadata
}

// Case 42: foreign fields survive the damage or loss of their document, and the next
// write of it.
func TestCase42ForeignFieldsOfDamagedDocument(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"cut":     func(path string) error { return os.Truncate(path, 200) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			p := imported(t)
			s := p.open(t)
			want := metadata(t, s)
			must(t, s.Close())
			must(t, damage(p.path("conversations/x_1.json")))
			for _, tag := range []string{"q", "r"} {
				s = p.open(t)
				same(t, "before "+tag, metadata(t, s), want)
				must(t, s.Configure(t.Context(), key("x:1"), func(set *sessions.Settings) error { set.Tags = append(set.Tags, tag); return nil }))
				same(t, "after "+tag, metadata(t, s), want)
				must(t, s.Close())
				if text := compact(t, p, "conversations/x_1.json"); !strings.Contains(text, `,"Title":"another","owner":{"id":"<7>"}}`) {
					t.Errorf("the fields are not at the top of\n%s", text)
				}
			}
		})
	}
}

// Foreign fields at the top stay there, however long and however many they are, with
// the rows and without. An edit of one counts.
func TestForeignFieldsGrow(t *testing.T) {
	for _, lost := range []string{"nothing", "rows.db"} {
		p := imported(t)
		long := strings.Repeat("<m>", 40<<10)
		for _, name := range []string{"a", "b", "c"} {
			edit(t, p, "conversations/x_1.json", `"format": 3,`, `"format": 3, "`+name+`": "`+long+`",`)
			if lost != "nothing" {
				must(t, os.Remove(p.path(lost)))
			}
			s := p.open(t)
			say(t, s, "x:1", name, "more")
			must(t, s.Close())
		}
		edit(t, p, "conversations/x_1.json", `"a": "<m>`, `"a": "much <m>`)
		s := p.open(t)
		say(t, s, "x:1", "edited", "more")
		var fields map[string]string
		_ = json.Unmarshal(metadata(t, s)[sessions.FieldsName], &fields) // fails for fields that are not text, and sets the others
		same(t, "the fields", []string{fields["a"], fields["b"], fields["c"]}, []string{"much " + long, long, long})
		must(t, s.Close())
		text := compact(t, p, "conversations/x_1.json")
		if !strings.Contains(text, `,"Title":"another","a":"much <m>`) || strings.Count(text, `"metadata":{"imported_fields":{"head":"ours"}`) != 1 || strings.Count(text, long) != 3 {
			t.Errorf("the document is\n%.2000s", text)
		}
	}
}
