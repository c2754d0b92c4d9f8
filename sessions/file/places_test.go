package file_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/file"
	"dragoman/sessions/storetest"
)

// placesOf are the fields of others that s keeps for x:1 by their places.
func placesOf(t *testing.T, s *file.Store) (places map[string]json.RawMessage) {
	t.Helper()
	if raw, ok := metadata(t, s)[sessions.PlacesName]; ok {
		must(t, json.Unmarshal(raw, &places))
	}
	return places
}

// wholeDocument is a closed store with something of everything in x:1.
func wholeDocument(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	s := p.open(t)
	storetest.Whole(t, s, key("x:1"))
	must(t, s.Close())
	return p
}

const document1 = "conversations/x_1.json"

// row4 is in the second message that waits there.
const row4 = `"id": 2,
      "seq": 4,`

// dropWaiting gives up the newest message that waits.
func dropWaiting(t *testing.T, s *file.Store) {
	t.Helper()
	all, err := s.ListQueue(t.Context(), 99)
	must(t, err)
	all = slices.DeleteFunc(all, func(q sessions.QueueItem) bool { return q.Kind != "in" })
	must(t, s.DropQueue(t.Context(), all[len(all)-1].ID))
}

// What stood in a row that is answered stays metadata, and what is taken out of
// a document by hand is gone.
func TestFieldsWhosePlaceIsGone(t *testing.T) {
	p := wholeDocument(t)
	edit(t, p, document1, row4, row4+` "mine": "row",`)
	edit(t, p, document1, `"head": {`, `"head": {"mine": "of the head",`)
	s := p.open(t)
	same(t, "places", placesOf(t, s), map[string]json.RawMessage{"waiting/4": raw(`{"mine":"row"}`), "head": raw(`{"mine":"of the head"}`)})
	must(t, s.Close())
	s = p.open(t)
	dropWaiting(t, s)
	must(t, s.Close())
	text := compact(t, p, document1)
	if !strings.Contains(text, `"metadata":{"imported_places":{"waiting/4":{"mine":"row"}}`) || !strings.Contains(text, `"mine":"of the head"},"lsn"`) {
		t.Errorf("the document is\n%s", text)
	}
	edit(t, p, document1, `,
    "mine": "of the head"`, "")
	s = p.open(t)
	same(t, "places", placesOf(t, s), map[string]json.RawMessage{"waiting/4": raw(`{"mine":"row"}`)})
	p.quiet(t)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// A field cannot take the place of one of ours, and what is no object of fields
// stays what it is.
func TestPlacesThatClash(t *testing.T) {
	p := wholeDocument(t)
	s := p.open(t)
	const set = `{"head":{"key":"y:9","mine":1},"journals":{"other":[],"turn/1":7},"nowhere":{"a":1},"waiting":5}`
	must(t, s.Configure(t.Context(), key("x:1"), func(set1 *sessions.Settings) {
		set1.Metadata = map[string]json.RawMessage{sessions.PlacesName: raw(set)}
	}))
	want := dump(t, s)
	for range 2 {
		must(t, s.Close())
		text := compact(t, p, document1)
		if !strings.Contains(text, `"metadata":{"imported_places":{"head":{"key":"y:9"},"journals":{"other":[],"turn/1":7},"nowhere":{"a":1},"waiting":5}}`) {
			t.Errorf("the document is\n%s", text)
		}
		must(t, os.Remove(p.path("index.json")))
		s = p.open(t)
		same(t, "records", dump(t, s), want)
		p.quiet(t)
	}
}

// Of more than 64 KiB nothing goes along; it stays in the document alone, as
// does what stands beside a queue that has no settings.
func TestPlacesThatTheDocumentAloneHas(t *testing.T) {
	p := wholeDocument(t)
	long := strings.Repeat("m", 64<<10)
	edit(t, p, document1, `"head": {`, `"head": {"mine": "`+long+`",`)
	edit(t, p, document1, row4, row4+` "short": 1,`)
	s := p.open(t)
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:2", "q", "waits")})
	must(t, err)
	must(t, s.Close())
	edit(t, p, "conversations/x_2.json", `"head": {`, `"theirs": 3, "head": {"mine": 2,`)
	for n := range 3 {
		s = p.open(t)
		if got := placesOf(t, s); len(got) > 0 {
			t.Errorf("kept are %.200s", got)
		}
		say(t, s, "x:1", number("n", n), "more")
		// It has a conversation now, and nobody edited it since.
		say(t, s, "x:2", number("o", n), "more")
		must(t, s.Close())
		one, two := string(read(t, p.path(document1))), compact(t, p, "conversations/x_2.json")
		if strings.Count(one, long) != 1 || strings.Count(one, `"short": 1`) != 1 || strings.Count(two, `"mine":2`) != 1 || strings.Count(two, `"theirs":3`) != 1 {
			t.Errorf("time %d: %.3000s\n%s", n, one, two)
		}
	}
}

// Others may write a field for each message that waits: what is left of them
// does not grow without an end.
func TestFieldsWhosePlaceIsGoneAreBounded(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	long := strings.Repeat("m", 30<<10)
	for n := range 5 {
		_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", number("w", n), "waits")})
		must(t, err)
		must(t, s.Close())
		edit(t, p, document1, `"origin": `, `"mine": "`+long+`", "origin": `)
		s = p.open(t)
		dropWaiting(t, s)
	}
	if n := len(placesOf(t, s)); n != 3 {
		t.Errorf("%d are left", n)
	}
}

// What others wrote is erased with what a person said, wherever it stood.
func TestPlacesAreErased(t *testing.T) {
	p, _ := everywhere(t)
	edit(t, p, document1, `"head": {`, `"head": {"endless": "`+strings.Repeat("m", 64<<10)+`",`)
	s := p.open(t)
	say(t, s, "x:1", "new", "written anew")
	must(t, file.Settle(s))
	if !bytes.Contains(read(t, p.path(document1)), []byte("zz_")) {
		t.Fatal("there is nothing to erase")
	}
	_, err := s.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "42"}}, Keys: []channels.Key{key("x:other")}})
	must(t, err)
	var doc map[string]json.RawMessage
	must(t, json.Unmarshal(read(t, p.path(document1)), &doc))
	for name, v := range doc {
		if (name != "messages" && name != "metadata" && name != "head" && bytes.Contains(v, []byte("zz_"))) || strings.HasPrefix(name, "zz_") {
			t.Errorf("%s has %s", name, v)
		}
	}
	if bytes.Contains(read(t, p.path(document1)), []byte("endless")) || metadata(t, s)[sessions.PlacesName] != nil {
		t.Error("places are left")
	}
}
