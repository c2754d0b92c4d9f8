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
