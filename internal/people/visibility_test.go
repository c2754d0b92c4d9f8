package people_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// wroteIn has who wrote in which conversation.
type wroteIn map[string][]sessions.Owner

func (w wroteIn) Owners(_ context.Context, k channels.Key) ([]sessions.Owner, error) {
	return w[k.String()], nil
}

// private and group are people who wrote.
func private(identities ...string) sessions.Owner {
	return sessions.Owner{Identities: identities, Private: true, From: 1}
}

func group(from int64, identities ...string) sessions.Owner {
	return sessions.Owner{Identities: identities, From: from}
}

// sightOf is a house with some conversations.
type sightOf struct {
	*people.Visibility
	gate   *people.Gate
	paired *paired
	people *people.Directory
	clock  *clock
	audits []string
	told   []string
	fail   error // of audits and of telling
}

func newSight(t *testing.T, along bool) *sightOf {
	t.Helper()
	h := &sightOf{clock: newClock(), paired: &paired{}}
	h.people = newDirectory(newStore(), h.clock)
	h.gate = people.NewGate(h.paired)
	h.gate.Set("telegram", people.Policy{Allow: []string{"42", "43", "chat:-7"}})
	h.gate.Set("irc", people.Policy{Allow: []string{"account:ann", "account:bob"}})
	owners := wroteIn{
		"telegram:42":  {private("telegram:42")},
		"telegram:43":  {private("telegram:43"), private("telegram:operator")},
		"telegram:-5":  {group(1, "telegram:43"), group(17, "telegram:42")},
		"telegram:-7":  {group(3, "telegram:99")},
		"irc:ann":      {private("irc:account:ann", "irc:mask:ann!a@b"), private("irc:mask:ann!a@b")},
		"irc:lent":     {private("irc:account:ann"), private("irc:account:bob")},
		"telegram:88":  nil,
		"heartbeat:hi": nil,
	}
	h.Visibility = people.NewVisibility(h.people, owners, people.VisibilityOptions{
		Gate: h.gate, ReadAlong: along, Now: h.clock.now,
		Audit: func(p people.Principal, k channels.Key) error {
			h.audits = append(h.audits, p.Token+" "+k.String())
			return h.fail
		},
		Tell: func(_ context.Context, k channels.Key) error {
			h.told = append(h.told, k.String())
			return h.fail
		},
	})
	return h
}

// holds is somebody with a token.
func holds(person string, scope people.Scope) people.Principal {
	return people.Principal{ID: person, Scope: scope, Token: "t", TokenID: "1"}
}

// TestWhoReadsWhose is the table of who reads whose talks.
func TestWhoReadsWhose(t *testing.T) {
	h := newSight(t, false)
	for _, c := range []struct {
		who  people.Principal
		key  string
		may  bool
		from int64
	}{
		{holds("telegram:42", people.Chat), "telegram:42", true, 0},
		{holds("telegram:42", people.Chat), "telegram:43", false, 0},
		{holds("telegram:43", people.Chat), "telegram:43", true, 0},
		{holds("telegram:42", people.Chat), "telegram:-5", true, 17},
		{holds("telegram:43", people.Chat), "telegram:-5", true, 1},
		{holds("telegram:99", people.Chat), "telegram:-5", false, 0},
		{holds("telegram:99", people.Chat), "telegram:-7", false, 0}, // only the group is on the list
		{holds("telegram:99", people.Chat), "telegram:99", false, 0},
		{holds("telegram:42", people.Admin), "telegram:43", false, 0}, // a scope opens no private talk
		{holds("operator", people.Admin), "telegram:42", false, 0},
		{holds("operator", people.Read), "telegram:-5", false, 0},
		{holds("operator", people.Chat), "heartbeat:hi", true, 0},
		{holds("operator", people.Admin), "telegram:88", false, 0}, // authors not known (yet)
		{holds("telegram:42", people.Admin), "heartbeat:hi", false, 0},
		{holds("telegram:42", ""), "telegram:42", false, 0},
		{people.Principal{Scope: people.Admin}, "telegram:42", false, 0},
		// Rooms.
		{holds("operator", people.Chat), "web:default", true, 0},
		{holds("operator", people.Admin), "web:telegram:42/default", false, 0},
		{holds("telegram:42", people.Chat), "web:telegram:42/default", true, 0},
		{holds("telegram:42", people.Admin), "web:default", false, 0},
		{holds("telegram:4", people.Chat), "web:telegram:42/default", false, 0},
		{holds("telegram:42", people.Chat), "cli:direct", false, 0},
		{holds("irc:mask:a!b@c/d", people.Chat), "web:irc:mask:a!b@c/d/x", true, 0},
		{holds("irc:mask:a!b@c", people.Chat), "web:irc:mask:a!b@c/d/x", false, 0},
		// An open port: the operator's rooms, and no talk that is theirs elsewhere.
		{people.Principal{ID: "operator", Scope: people.Chat}, "web:default", true, 0},
		{people.Principal{ID: "operator", Scope: people.Chat}, "cli:direct", true, 0},
		{people.Principal{ID: "operator", Scope: people.Chat}, "heartbeat:hi", false, 0},
		{people.Principal{ID: "operator", Scope: people.Chat}, "web:telegram:42/default", false, 0},
		{people.Principal{ID: "operator", Scope: people.Chat, Token: people.ProxiedName}, "heartbeat:hi", true, 0},
		// IRC: an account and its mask; a nick that changed hands.
		{holds("irc:account:ann", people.Chat), "irc:ann", true, 0},
		{holds("irc:account:ann", people.Chat), "irc:lent", false, 0},
		{holds("irc:account:bob", people.Chat), "irc:lent", false, 0},
	} {
		got, err := h.Read(t.Context(), c.who, channels.MustKey(c.key))
		if err != nil || got.May != c.may || got.Own != c.may || got.From != c.from {
			t.Errorf("%s with %s in %s: %+v, %v, want %v from %d", c.who.ID, c.who.Scope, c.key, got, err, c.may, c.from)
		}
	}
	if len(h.audits)+len(h.told) > 0 {
		t.Errorf("recorded: %v, told: %v", h.audits, h.told)
	}
}

// TestRooms have one person each, and a name that people see.
func TestRooms(t *testing.T) {
	for person, want := range map[string]string{"operator": "x", "telegram:42": "telegram:42/x"} {
		got := people.Room(holds(person, people.Chat), "x")
		if got != want || people.RoomName(channels.MustKey("web:"+got)) != "x" {
			t.Errorf("Room of %s = %q, want %q", person, got, want)
		}
	}
}

// TestRemovedPerson reads nothing any more, wherever the allow list or pairing
// let them in.
func TestRemovedPerson(t *testing.T) {
	h := newSight(t, false)
	who := holds("telegram:42", people.Chat)
	h.gate.Set("telegram", people.Policy{Allow: []string{"43"}})
	for _, k := range []string{"telegram:42", "telegram:-5"} {
		if got, err := h.Read(t.Context(), who, channels.MustKey(k)); got.May || err != nil {
			t.Errorf("%s: %+v, %v", k, got, err)
		}
	}
	h.paired.ids = []string{"telegram 42"}
	if got, err := h.Read(t.Context(), who, channels.MustKey("telegram:42")); !got.May || err != nil {
		t.Errorf("paired: %+v, %v", got, err)
	}
	h.paired.fail = errors.New("the disk is gone")
	if got, err := h.Read(t.Context(), who, channels.MustKey("telegram:42")); got.May || !errors.Is(err, h.paired.fail) {
		t.Errorf("without a store: %+v, %v", got, err)
	}
}

// TestGroupLeft: a group that is answered no more, or whose channel was shut,
// is read by nobody.
func TestGroupLeft(t *testing.T) {
	h := newSight(t, false)
	who := holds("telegram:42", people.Chat)
	for name, p := range map[string]people.Policy{
		"no groups": {Allow: []string{"42"}, Groups: people.Off},
		"shut":      {Allow: []string{"42"}, Shut: true},
	} {
		h.gate.Set("telegram", p)
		if got, err := h.Read(t.Context(), who, channels.MustKey("telegram:-5")); got.May || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestTwoIdentitiesOfOnePerson: one token reads the talks of both, and of one
// again when they part.
func TestTwoIdentitiesOfOnePerson(t *testing.T) {
	h := newSight(t, false)
	who := holds("telegram:42", people.Chat)
	room := channels.MustKey("web:irc:account:ann/x")
	for _, k := range []channels.Key{channels.MustKey("irc:ann"), room} {
		if got, _ := h.Read(t.Context(), who, k); got.May {
			t.Errorf("before: %s is open", k)
		}
	}
	if err := h.people.Join(t.Context(), "telegram:42", "irc:account:ann"); err != nil {
		t.Fatal(err)
	}
	for _, k := range []channels.Key{channels.MustKey("irc:ann"), room} {
		if got, err := h.Read(t.Context(), who, k); !got.Own || err != nil {
			t.Errorf("joined: %s: %+v, %v", k, got, err)
		}
	}
	if err := h.people.Part(t.Context(), "irc:account:ann"); err != nil {
		t.Fatal(err)
	}
	if got, _ := h.Read(t.Context(), who, channels.MustKey("irc:ann")); got.May {
		t.Error("parted: it is still open")
	}
}

// TestSocketReadsAndIsRecorded: once an hour, and nobody is told.
func TestSocketReadsAndIsRecorded(t *testing.T) {
	h := newSight(t, false)
	socket := people.Principal{ID: people.OperatorID, Scope: people.Admin}
	k := channels.MustKey("telegram:42")
	for range 3 {
		if got, err := h.Read(t.Context(), socket, k); !got.May || got.Own || err != nil {
			t.Errorf("Read = %+v, %v", got, err)
		}
	}
	if len(h.audits) != 1 || len(h.told) != 0 {
		t.Errorf("recorded: %v, told: %v", h.audits, h.told)
	}
	h.clock.forward(time.Hour)
	if _, err := h.Read(t.Context(), socket, k); err != nil || len(h.audits) != 2 {
		t.Errorf("after an hour: %v, %v", h.audits, err)
	}
	h.fail = errors.New("the disk is full")
	if got, err := h.Read(t.Context(), socket, channels.MustKey("telegram:43")); got.May || !errors.Is(err, h.fail) {
		t.Errorf("what cannot be recorded: %+v, %v", got, err)
	}
	if got, err := h.Read(t.Context(), socket, channels.MustKey("web:default")); !got.Own || err != nil {
		t.Errorf("their own room: %+v, %v", got, err)
	}
}

// TestReadAlong: with the scope read and the setting; its people are told first.
func TestReadAlong(t *testing.T) {
	h := newSight(t, true)
	k := channels.MustKey("telegram:42")
	for _, who := range []people.Principal{holds("operator", people.Chat), holds("telegram:43", people.Chat)} {
		if got, err := h.Read(t.Context(), who, k); got.May || err != nil {
			t.Errorf("%s: %+v, %v", who.ID, got, err)
		}
	}
	who := holds("operator", people.Read)
	if sees, err := h.Sees(t.Context(), who, k); sees || err != nil || len(h.told) > 0 {
		t.Errorf("a list shows it: %v, %v, told %v", sees, err, h.told)
	}
	h.fail = errors.New("the network is gone")
	if got, err := h.Read(t.Context(), who, k); got.May || !errors.Is(err, h.fail) || len(h.audits) > 0 {
		t.Errorf("nobody could be told: %+v, %v", got, err)
	}
	h.fail = nil
	h.told = nil
	got, err := h.Read(t.Context(), who, k)
	if !got.May || got.Own || err != nil || len(h.told) != 1 || len(h.audits) != 1 {
		t.Errorf("Read = %+v, %v, told %v, recorded %v", got, err, h.told, h.audits)
	}
}

// A group is known as one, also to those who may not read it, because lists show its key.
func TestGroupsAreKnown(t *testing.T) {
	h := newSight(t, false)
	for key, want := range map[string]bool{"telegram:-5": true, "telegram:-7": true, "telegram:42": false, "telegram:43": false, "web:x": false} {
		got, err := h.Of(t.Context(), holds("telegram:42", people.Read), channels.MustKey(key))
		if err != nil || got.Group != want {
			t.Errorf("%s is a group: %t, %v, want %t", key, got.Group, err, want)
		}
	}
}
