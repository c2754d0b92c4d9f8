package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
)

// A mistyped key makes no conversation; with New it does.
func TestSettingsOfNobody(t *testing.T) {
	c := api.InProcess(api.New(optionsOf(filled(t))))
	defer c.Close()
	change := api.Change{Key: channels.MustKey("telegram:typo"), Tag: []string{"a"}}
	if _, err := api.Configure.Call(t.Context(), c, change); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("Configure = %v, want ErrNotFound", err)
	}
	if _, err := api.ReadConversation.Call(t.Context(), c, api.About{Key: change.Key}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("Conversation = %v, want ErrNotFound", err)
	}
	change.New = true
	if _, err := api.Configure.Call(t.Context(), c, change); err != nil {
		t.Errorf("Configure of a new one = %v", err)
	}
	err := api.Join.Call(t.Context(), c, api.Pair{From: change.Key, To: channels.MustKey("irc:x")})
	if err == nil || err.Error() != "only conversations on the same channel can be joined" {
		t.Errorf("Join = %v", err)
	}
}

// A refused change stores nothing, and so makes no conversation.
func TestRefusedSettingsAreNotStored(t *testing.T) {
	c := api.InProcess(api.New(optionsOf(filled(t))))
	defer c.Close()
	change := api.Change{Key: channels.MustKey("telegram:new"), New: true}
	for i := range 60 {
		change.Tag = append(change.Tag, fmt.Sprint("t", i))
	}
	const want = "a conversation has at most 50 tags and 64 values of metadata"
	if _, err := api.Configure.Call(t.Context(), c, change); err == nil || err.Error() != want {
		t.Errorf("Configure = %v, want %s", err, want)
	}
	if got, err := api.ReadConversation.Call(t.Context(), c, api.About{Key: change.Key}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("Conversation = %+v, %v; want ErrNotFound", got, err)
	}
}

// A chat whose first message only waits, or was a command, exists for the
// person in it, and so for the operator.
func TestSettingsBeforeTheFirstTurn(t *testing.T) {
	for name, answered := range map[string]bool{"waits": false, "a command": true} {
		t.Run(name, func(t *testing.T) {
			store := filled(t)
			key := channels.MustKey("telegram:77")
			e := sessions.Entry{Inbound: channels.Inbound{Key: key, ID: "77", Text: "/help"}, Answered: answered}
			if _, err := store.Accept(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			c := api.InProcess(api.New(optionsOf(store)))
			defer c.Close()
			now, err := api.Configure.Call(t.Context(), c, api.Change{Key: key, Tag: []string{"a"}})
			if err != nil || len(now.Tags) != 1 {
				t.Errorf("Configure = %+v, %v; want it tagged", now, err)
			}
		})
	}
}

// Values that lists could not show, or nobody could type again, are refused
// before they are stored.
func TestSettingsAreChecked(t *testing.T) {
	long := strings.Repeat("x", 300)
	prompt := strings.Repeat("x", 40<<10)
	meta := func(name, value string) api.Change {
		return api.Change{Meta: map[string]json.RawMessage{name: json.RawMessage(value)}}
	}
	tags := func(tags ...string) api.Change { return api.Change{Tag: tags} }
	for _, tt := range []struct {
		name   string
		change api.Change
		good   bool
	}{
		{"a tag", tags("work"), true},
		{"a tag in Greek with a sign inside", tags("έργο-1+2"), true},
		{"fifty letters of two bytes", tags(strings.Repeat("é", 50)), true},
		{"fifty-one letters", tags(strings.Repeat("é", 51)), false},
		{"an empty tag", tags(""), false},
		{"a space", tags("two words"), false},
		{"a space of no width that breaks", tags("two\u2028words"), false},
		{"a comma", tags("a,b"), false},
		{"a control character", tags("a\x07"), false},
		{"text that runs backwards", tags("a\u202eb"), false},
		{"a plus in front", tags("+a"), false},
		{"a minus in front", tags("-a"), false},
		{"the second of two", tags("good", "not good"), false},
		{"a value", meta("project", `"x"`), true},
		{"no JSON", meta("project", `{`), false},
		{"a name with a space", meta("a b", `1`), false},
		{"a value too long", meta("a", `"`+strings.Repeat("x", 5000)+`"`), false},
		{"an unknown level", api.Change{Reasoning: &long}, false},
		{"a model's name too long", api.Change{Model: &long}, false},
		{"a prompt too long", api.Change{System: &prompt}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := api.InProcess(api.New(optionsOf(filled(t))))
			defer c.Close()
			tt.change.Key = channels.MustKey("telegram:1")
			_, err := api.Configure.Call(t.Context(), c, tt.change)
			if good := err == nil; good != tt.good {
				t.Errorf("accepted: %t (%v), want %t", good, err, tt.good)
			}
		})
	}
}
