package erasure_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
	"dragoman/sessions/sqlite/sqlitetest"
)

// frugal is a store that refuses to be read as a whole, and notes the keys it reads.
type frugal struct {
	erasure.Store
	read []channels.Key
}

func (f *frugal) Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	if len(keys) == 0 {
		return errors.New("the whole store is read")
	}
	f.read = append(f.read, keys...)
	return f.Store.Dump(ctx, keys, emit)
}

// TestPeopleWithoutReadingTheStore: the list of writers is enough to identify people.
// Memories are found under every id, and an erasure reads only the conversations in
// which the person wrote.
func TestPeopleWithoutReadingTheStore(t *testing.T) {
	ctx := t.Context()
	s := sqlitetest.Open(t, now)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	wrote := func(k, id, name, file string, ids ...string) {
		t.Helper()
		m := channels.Inbound{Key: channels.MustKey(k), ID: id, Text: "hi", Sender: channels.Person{IDs: ids, Name: name}, Private: k == "whatsapp:+1"}
		said := sessions.Message{Role: sessions.RoleUser, Content: "hi", Sender: ids[0], Name: name, Attachments: []channels.Attachment{{Kind: channels.AttachmentImage, File: file}}}
		if _, err := s.Accept(ctx, sessions.Entry{Inbound: m, Answered: true, Append: []sessions.Message{said}}); err != nil {
			t.Fatal(err)
		}
	}
	wrote("whatsapp:+1", "1", "Ann", "f1", "800@lid")
	wrote("whatsapp:g@g.us", "2", "Ann", "f2", "800@lid", "+1")
	wrote("whatsapp:h@g.us", "3", "Bob", "f3", "900@lid", "+2")
	for _, scope := range []string{"person:whatsapp:800@lid", "person:whatsapp:+1", "person:whatsapp:+2", "chat:whatsapp:+1", "agent:cook:person:whatsapp:+1", "agent:cook:chat:whatsapp:g@g.us", "agent:cook:person:whatsapp:800"} {
		if _, err := s.Remember(ctx, scope, sessions.NewFact{Text: "of " + scope}); err != nil {
			t.Fatal(err)
		}
	}
	f := &frugal{Store: s}
	e := erasure.New(erasure.Options{Store: f, Now: now})
	scopes, err := e.Scopes(ctx, channels.MustKey("whatsapp:+1"))
	if want := []string{"chat:whatsapp:+1", "person:whatsapp:+1", "person:whatsapp:800@lid", "agent:cook:person:whatsapp:+1"}; err != nil || !slices.Equal(scopes, want) {
		t.Fatalf("Scopes = %q, %v, want %q", scopes, err, want)
	}
	if len(f.read) > 0 {
		t.Errorf("memories were found by reading %v", f.read)
	}

	// The plan names only memories that exist.
	plan, err := e.Plan(ctx, channels.MustKey("whatsapp:+2"), false)
	if want := []string{"person:whatsapp:+2", "chat:whatsapp:+2", "chat:whatsapp:h@g.us"}; err != nil || len(plan.Erasure.Senders) != 2 || !slices.Equal(plan.Erasure.Scopes, want) {
		t.Errorf("Plan = %+v, %v, want the scopes %q", plan, err, want)
	}
	f.read = nil

	got, err := e.Erase(ctx, sessions.Erasure{
		Keys:    []channels.Key{channels.MustKey("whatsapp:+1")},
		Senders: []sessions.Sender{{Channel: "whatsapp", ID: "800@lid"}, {Channel: "whatsapp", ID: "+1"}},
	})
	if err != nil || !slices.Equal(got.Files, []string{"f1", "f2"}) {
		t.Errorf("Erase = %+v, %v", got, err)
	}
	if slices.Contains(f.read, channels.MustKey("whatsapp:h@g.us")) || !slices.Contains(f.read, channels.MustKey("whatsapp:g@g.us")) {
		t.Errorf("an erasure reads %v", f.read)
	}
	if _, err := e.Erase(ctx, sessions.Erasure{Senders: []sessions.Sender{{Channel: "whatsapp", ID: "nobody"}}}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("Erase of an unknown person = %v, want ErrNotFound", err)
	}
}

// An id that only a persona remembers is found, and all that it remembers is erased with its
// person.
func TestMemoriesOfPersonas(t *testing.T) {
	ctx := t.Context()
	s := sqlitetest.Open(t, now)
	for _, scope := range []string{"agent:cook:person:net:1", "agent:cook:chat:net:1", "agent:cook:person:net:2", "person:net:2"} {
		if _, err := s.Remember(ctx, scope, sessions.NewFact{Text: "of " + scope}); err != nil {
			t.Fatal(err)
		}
	}
	traces, err := people.ReadTraces(ctx, s, "net", now())
	if err != nil || !traces.Remembered("1") || traces.Remembered("3") {
		t.Errorf("the memory of 1 is not found, or one of 3 is: %v", err)
	}
	e := erasure.New(erasure.Options{Store: s, Now: now})
	plan, err := e.Plan(ctx, channels.MustKey("net:1"), false)
	if err != nil || plan.Facts != 2 {
		t.Fatalf("the plan has %d facts, %v, want 2", plan.Facts, err)
	}
	if _, err := e.Erase(ctx, plan.Erasure); err != nil {
		t.Fatal(err)
	}
	left, err := s.FactScopes(ctx, "")
	if want := []string{"agent:cook:person:net:2", "person:net:2"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("after the erasure of 1 the memories are %q, %v, want %q", left, err, want)
	}
}
