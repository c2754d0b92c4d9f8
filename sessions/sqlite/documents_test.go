package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

// Each commit marks the documents that do not show it, and how much of them is stale.
// Written documents are noted, and their rows deleted when they are gone.
func TestDocuments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.db")
	open := func() (*sqlite.Backend, *engine.Store) {
		b, err := sqlite.OpenBackend(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return b, engine.New(b, "sqlite", nil)
	}
	b, s := open()
	k := channels.MustKey("x:1")
	say := func(id string) {
		t.Helper()
		m := []sessions.Message{{Role: sessions.RoleUser, Content: "hi", Sender: "7"}}
		if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: id, Text: "hi"}, Answered: true, Append: m}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, want ...sqlite.Document) []sqlite.Document {
		t.Helper()
		got, err := b.Documents(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b channels.Key) bool { return a == b })); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", what, diff)
		}
		return got
	}
	written := func(list []sqlite.Document) {
		t.Helper()
		if err := b.Written(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	want("nothing")
	say("1")
	list := want("a generation", sqlite.Document{Changed: 1}, sqlite.Document{Key: k, Changed: 1})
	say("2")
	list[0].Size = 5
	list[1].Size = 9
	list[1].LastSeq = 1
	written(list)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b, s = open()
	defer func() { _ = b.Close() }()
	written(want("a second message", sqlite.Document{Key: k, Changed: 2, Written: 1, Size: 9, LastSeq: 1}))
	want("both are written")
	steps := []struct {
		name string
		do   func() error
	}{
		{"an erasure", func() error {
			_, err := s.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
			return err
		}},
		{"a deletion", func() error { return s.Delete(t.Context(), k) }},
		// The last step leaves the conversation and its owner's note, which goes with it below.
		{"a change of the title", func() error { return s.Rename(t.Context(), k, time.Now().String()) }},
	}
	for _, step := range steps {
		name := step.name
		say(name)
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		all, err := b.Documents(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			if whole, deleted := d.Whole > d.Written, d.Deleted > d.Written; !d.Key.IsZero() && (whole != (name != "a change of the title") || deleted != (name == "a deletion")) {
				t.Errorf("after %s: %+v", name, d)
			}
			d.Size = 9
			written([]sqlite.Document{d})
		}
		want(name + " is written")
	}
	if _, err := s.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{k}}); err != nil {
		t.Fatal(err)
	}
	all, err := b.Documents(t.Context(), true)
	if err != nil || len(all) != 2 || !all[0].Key.IsZero() || all[1].Key != k {
		t.Fatalf("Documents = %+v, %v, want the records and the erased conversation", all, err)
	}
	all[1].Size = 0
	written(all)
	if all, err = b.Documents(t.Context(), false); err != nil || len(all) != 1 || !all[0].Key.IsZero() {
		t.Errorf("Documents = %+v, %v, want that of the store alone", all, err)
	}
}
