package people_test

import (
	"slices"
	"testing"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// One person has one memory, whose facts say where they were said. Afterwards each identity
// has what was said there, and nobody else ever has any of it.
func TestMemoryOfOnePerson(t *testing.T) {
	ctx := t.Context()
	store := sqlitetest.Open(t, nil)
	t.Cleanup(func() { _ = store.Close() })
	dir := people.NewDirectory(store, people.DirectoryOptions{Rooms: []string{"web"}, Shared: []string{"web"}})
	m := people.Memory{Facts: store, People: dir}
	c := people.NewConnections(dir)
	scope := func(key, id string) string {
		s, err := m.Scope(channels.MustKey(key), channels.Person{IDs: []string{id}}, true, "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	phone, desk := scope("telegram:42", "42"), scope("irc:ann", "account:ann")
	room, shared := scope("web:telegram:42/x", "telegram:42"), scope("web:x", "owner")
	said := func(scope string) (list []string) {
		facts, err := m.Recall(ctx, scope, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range facts {
			list = append(list, f.Text+" "+f.From.Channel())
		}
		return list
	}
	keep := func(scope, text string, from string) int64 {
		n := sessions.NewFact{Text: text}
		if from != "" {
			n.From = channels.MustKey(from)
		}
		kept, err := m.Remember(ctx, scope, n)
		if err != nil {
			t.Fatal(err)
		}
		return kept.ID
	}
	keep(phone, "tea", "telegram:42")
	keep(room, "page", "web:telegram:42/x")
	keep(shared, "anybody", "")
	keep(scope("irc:bob", "account:bob"), "bob", "")
	desked := keep(desk, "desk", "")
	for _, scope := range []string{phone, room} { // a room is its person's
		if got := said(scope); !slices.Equal(got, []string{"page web", "tea telegram"}) {
			t.Errorf("before: %q", got)
		}
	}
	code, err := c.Offer(ctx, ann)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Redeem(ctx, annOnIRC, code); err != nil {
		t.Fatal(err)
	}
	for _, s := range []people.Side{ann, annOnIRC} {
		if _, _, err := c.Answer(ctx, s, true); err != nil {
			t.Fatal(err)
		}
	}
	for name, scope := range map[string]string{"phone": phone, "desk": desk, "room": room} {
		got := said(scope)
		want := []string{"desk irc", "page web", "tea telegram"}
		if scope == desk {
			want[0] = "desk " // its own, of which nobody noted where
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	own := sessions.OwnScope("cook", desk)
	keep(own, "recipe", "irc:ann")
	if got := said(sessions.OwnScope("cook", phone)); !slices.Equal(got, []string{"recipe irc"}) {
		t.Errorf("what the cook alone knows: %q", got)
	}
	if got := said(shared); !slices.Equal(got, []string{"anybody "}) {
		t.Errorf("a page that others reach: %q", got)
	}
	if err := m.PinFact(ctx, phone, desked, true); err != nil {
		t.Error(err)
	}
	if err := m.Forget(ctx, phone, desked); err != nil {
		t.Error(err)
	}
	if undone, err := m.UndoFacts(ctx, room); err != nil || len(undone.Back) != 1 || undone.Back[0].ID != desked {
		t.Errorf("UndoFacts = %+v, %v", undone, err)
	}
	if err := m.Forget(ctx, phone, 99); err == nil {
		t.Error("what is not there was forgotten")
	}
	if _, err := c.Disconnect(ctx, annOnIRC); err != nil {
		t.Fatal(err)
	}
	if got := said(desk); !slices.Equal(got, []string{"desk "}) {
		t.Errorf("at the desk, afterwards: %q", got)
	}
	if got := said(phone); !slices.Equal(got, []string{"page web", "tea telegram"}) {
		t.Errorf("on the phone, afterwards: %q", got)
	}
}
