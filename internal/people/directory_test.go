package people_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// newDirectory has the rooms of a page and a terminal, and telegram:1 as the
// operator's chat.
func newDirectory(s *store, c *clock) *people.Directory {
	return people.NewDirectory(s, people.DirectoryOptions{
		Rooms: []string{"web", "cli"}, Now: c.now,
		Operator: func() channels.Key { return channels.MustKey("telegram:1") },
	})
}

// TestJoinedIdentitiesAreOnePerson, over networks, in any order, on every node;
// and are two again when one parts.
func TestJoinedIdentitiesAreOnePerson(t *testing.T) {
	c := newClock()
	s := newStore()
	here, there := newDirectory(s, c), newDirectory(s, c)
	ctx := t.Context()
	if p, err := there.Person(ctx, "telegram:42"); p != "telegram:42" || err != nil {
		t.Fatalf("before: %q, %v", p, err)
	}
	for _, pair := range [][2]string{{"telegram:42", "irc:account:ann"}, {"whatsapp:+1555", "mail:a@b"}, {"mail:a@b", "telegram:42"}} {
		if err := here.Join(ctx, pair[0], pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	c.forward(3 * time.Second)
	for name, d := range map[string]*people.Directory{"here": here, "there": there} {
		first, err := d.Person(ctx, "telegram:42")
		if err != nil || !strings.HasPrefix(first, "person:") {
			t.Errorf("%s: Person = %q, %v", name, first, err)
		}
		for _, other := range []string{"irc:account:ann", "whatsapp:+1555", "mail:a@b"} {
			if p, err := d.Person(ctx, other); p != first || err != nil {
				t.Errorf("%s: Person(%s) = %q, %v, want %q", name, other, p, err, first)
			}
		}
		if p, err := d.Resolve(ctx, "irc", []string{"mask:x!y@z", "account:ann"}); p != first || err != nil {
			t.Errorf("%s: Resolve = %q, %v, want %q", name, p, err, first)
		}
	}
	if err := here.Part(ctx, "telegram:42"); err != nil {
		t.Fatal(err)
	}
	if p, err := here.Person(ctx, "telegram:42"); p != "telegram:42" || err != nil {
		t.Errorf("after Part: %q, %v", p, err)
	}
	if err := here.Part(ctx, "telegram:42"); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("a second Part = %v, want ErrNotFound", err)
	}
}

// TestErasedIdentityLeavesNoTrace with those that it was joined with.
func TestErasedIdentityLeavesNoTrace(t *testing.T) {
	c := newClock()
	s := newStore()
	d := newDirectory(s, c)
	if err := d.Join(t.Context(), "whatsapp:+1555", "telegram:42"); err != nil {
		t.Fatal(err)
	}
	s.erase("whatsapp:+1555")
	if text := s.text(t); strings.Contains(text, "1555") {
		t.Errorf("the store still has it: %s", text)
	}
	c.forward(3 * time.Second)
	got, err := d.Identities(t.Context(), "telegram:42")
	if err != nil || slices.Contains(got, "whatsapp:+1555") {
		t.Errorf("Identities = %v, %v", got, err)
	}
}

// What the operator asks for in the page, in the terminal and from the command line is common,
// without having joined anything. What is said on a page that others reach is not.
func TestOperatorTogether(t *testing.T) {
	for shared, want := range map[string][]string{
		"":    {"cli:owner", "cli:operator", "web:operator", "web:owner"},
		"web": {"cli:owner", "cli:operator", "web:operator"},
	} {
		d := people.NewDirectory(nil, people.DirectoryOptions{Rooms: []string{"web", "cli"}, Shared: []string{shared}})
		got, err := d.Together(t.Context(), "cli:owner")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("shared %q: Together = %q, %v, want %q", shared, got, err, want)
		}
	}
}

// TestOperator: whoever runs Dragoman, by all the ways in which they write.
func TestOperator(t *testing.T) {
	c := newClock()
	d := newDirectory(newStore(), c)
	if err := d.Join(t.Context(), "irc:account:boss", people.OperatorID); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		m    channels.Inbound
		want bool
	}{
		"a room, before rooms knew people": {wrote("web:default", true, "owner"), true},
		"a room":                           {wrote("web:default", true, "operator"), true},
		"the terminal":                     {wrote("cli:direct", true, "owner"), true},
		"the command line":                 {wrote("telegram:42", true, "operator"), true},
		"the configured chat":              {wrote("telegram:1", true, "1"), true},
		"where others write, too":          {wrote("telegram:1", false, "9"), false},
		"in a group":                       {wrote("telegram:-5", false, "1"), false},
		"a joined identity":                {wrote("irc:#go", false, "mask:b!b@b", "account:boss"), true},
		"another's room":                   {wrote("web:telegram:42/default", true, "telegram:42"), false},
		"another person":                   {wrote("telegram:42", true, "42"), false},
		"who calls themselves owner":       {wrote("irc:owner", true, "account:owner"), false},
		"nobody":                           {wrote("telegram:42", true), false},
	} {
		if got, err := d.IsOperator(t.Context(), test.m); got != test.want || err != nil {
			t.Errorf("%s: IsOperator = %v, %v", name, got, err)
		}
	}
	got, err := d.Identities(t.Context(), people.OperatorID)
	want := []string{
		"cli:irc:account:boss", "cli:operator", "cli:owner", "irc:account:boss", "telegram:1",
		"web:irc:account:boss", "web:operator", "web:owner",
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Identities: %v\n%s", err, diff)
	}
	// A program that asks with a token of theirs is "operator".
	owners, err := d.Owners(t.Context(), "irc:account:boss")
	if want := slices.Sorted(slices.Values(append(want, "operator"))); err != nil || !slices.Equal(owners, want) {
		t.Errorf("Owners = %v, %v, want %v", owners, err, want)
	}
}

// TestSharedPage: a page that others can reach shows them nothing that is only for
// whoever runs Dragoman.
func TestSharedPage(t *testing.T) {
	for _, shared := range []bool{false, true} {
		o := people.DirectoryOptions{Rooms: []string{"web", "cli"}}
		if shared {
			o.Shared = []string{"web"}
		}
		d := people.NewDirectory(nil, o)
		if got, err := d.IsOperator(t.Context(), wrote("web:default", true, "owner")); got == shared || err != nil {
			t.Errorf("shared %v: whoever has the one token is the operator: %v, %v", shared, got, err)
		}
		if got, err := d.IsOperator(t.Context(), wrote("web:default", true, "operator")); !got || err != nil {
			t.Errorf("shared %v: the operator is not: %v", shared, err)
		}
		for key, want := range map[string]bool{"web:default": !shared, "cli:direct": true, "web:telegram:42/x": false, "telegram:42": false} {
			if got := d.IsOperatorsRoom(channels.MustKey(key)); got != want {
				t.Errorf("shared %v: IsOperatorsRoom(%s) = %v", shared, key, got)
			}
		}
	}
}

// TestDirectoryWithoutStore goes on with what it knew, and never takes somebody
// for somebody else.
func TestDirectoryWithoutStore(t *testing.T) {
	c := newClock()
	s := newStore()
	d := newDirectory(s, c)
	s.fail = errors.New("the disk is gone")
	if p, err := d.Person(t.Context(), "telegram:42"); !errors.Is(err, s.fail) {
		t.Errorf("Person = %q, %v, want the store's error", p, err)
	}
	s.fail = nil
	if err := d.Join(t.Context(), "telegram:42", "irc:account:ann"); err != nil {
		t.Fatal(err)
	}
	want, err := d.Person(t.Context(), "telegram:42")
	if err != nil {
		t.Fatal(err)
	}
	s.fail = errors.New("the disk is gone")
	c.forward(time.Hour)
	if p, err := d.Person(t.Context(), "irc:account:ann"); p != want || err != nil {
		t.Errorf("Person = %q, %v, want %q", p, err, want)
	}
}

// TestJoinRefuses what is no identity, and stores nothing.
func TestJoinRefuses(t *testing.T) {
	s := newStore()
	d := newDirectory(s, newClock())
	for _, bad := range []string{"", "ann", ":1", "telegram:", "a b:c", "web:holiday", "telegram:42"} {
		if err := d.Join(t.Context(), "telegram:42", bad); err == nil {
			t.Errorf("Join(%q) was taken", bad)
		}
	}
	if s.writes != 0 {
		t.Errorf("%d writes", s.writes)
	}
}
