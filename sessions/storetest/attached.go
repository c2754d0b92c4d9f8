package storetest

import (
	"slices"
	"testing"

	"dragoman/sessions"
)

// attachedBy is data that a provider attached to an answer.
func attachedBy(data string) *sessions.Attached {
	return &sessions.Attached{By: sessions.Provenance{API: "responses", Host: "api.example:8443", Model: "m"}, Data: raw(data)}
}

// thoughtful is an answer with attached thoughts that contain a word.
func thoughtful(text, word string) sessions.Message {
	m := assistant(text)
	m.Attached = attachedBy(`{"z":[{"thought":"` + word + `"}],"a":1.50}`)
	return m
}

var attachedTests = map[string]func(*testing.T, *rig){
	"Attached/ComesBackInItsOrder":    attachedComesBack,
	"Attached/IsNotSearched":          attachedIsNotSearched,
	"Attached/CountsAgainstTheLimit":  attachedCounts,
	"Attached/MovesWithItsMessage":    attachedMoves,
	"Attached/IsErasedWithItsMessage": attachedIsErased,
}

func attachedComesBack(t *testing.T, r *rig) {
	m := assistant("answer")
	m.Attached = attachedBy(` {"z": "<think> & so on", "a": 12345678901234567890.10, "n": null} `)
	odd := assistant("another")
	odd.Attached = attachedBy(`{"cut": `)
	r.say(t, "x:1", "1", m, odd)
	h, _ := r.history(t, sessions.HistoryLimit{})
	// The value is the same, whether JSON escapes a "<" or not.
	same(t, "attached data", h.Messages[0].Attached, attachedBy(`{"z":"\u003cthink\u003e \u0026 so on","a":12345678901234567890.10,"n":null}`))
	if got := h.Messages[1].Attached; got != nil {
		t.Errorf("text that is not JSON is kept as %s", got.Data)
	}
}

func attachedIsNotSearched(t *testing.T, r *rig) {
	r.say(t, "x:1", "1", user("hay"), thoughtful("hay", "needle"))
	for _, word := range []string{"needle", "thought", "responses"} {
		if found, err := r.SearchAll(t.Context(), sessions.Search{Query: word, Limit: 9}); err != nil || len(found) > 0 {
			t.Errorf("SearchAll(%q) = %+v, %v, want nothing", word, found, err)
		}
		if found, err := r.Search(t.Context(), key("x:1"), word, 9); err != nil || len(found) > 0 {
			t.Errorf("Search(%q) = %+v, %v, want nothing", word, found, err)
		}
	}
}

func attachedCounts(t *testing.T, r *rig) {
	m := assistant("22")
	m.Attached = attachedBy(`"456789"`)
	r.say(t, "x:1", "1", user("1"), m)
	for limit, want := range map[int]int{11: 2, 10: 1, 9: 0} {
		if h, texts := r.history(t, sessions.HistoryLimit{Bytes: limit}); len(texts) != want || h.Omitted != 2-want {
			t.Errorf("History within %d bytes = %q, %d omitted, want %d messages", limit, texts, h.Omitted, want)
		}
	}
}

func attachedMoves(t *testing.T, r *rig) {
	r.say(t, "x:1", "1", user("hi"), thoughtful("of one", "one"))
	r.say(t, "x:2", "2", user("hi"), thoughtful("of two", "two"))
	must(t, r.Join(t.Context(), key("x:2"), key("x:1")))
	h, texts := r.history(t, sessions.HistoryLimit{})
	for of, word := range map[string]string{"of one": "one", "of two": "two"} {
		i := slices.Index(texts, of)
		if i < 0 {
			t.Fatalf("History = %q, want an answer %q", texts, of)
		}
		same(t, "data attached to the answer "+of, h.Messages[i].Attached, thoughtful("", word).Attached)
	}
}

func attachedIsErased(t *testing.T, r *rig) {
	mine := thoughtful("mine", "needle")
	mine.Sender = "7" // an import can have such a message
	r.say(t, "x:1", "1", mine, thoughtful("reply", "hay"))
	_, err := r.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
	must(t, err)
	r.wordless(t, "Erase")
	h, _ := r.history(t, sessions.HistoryLimit{})
	same(t, "kept data", h.Messages[1].Attached, thoughtful("", "hay").Attached)
}
