package people_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"dragoman/internal/people"
)

// TestLinkOpensOnePage: the operator with scope admin, once, on any node.
func TestLinkOpensOnePage(t *testing.T) {
	c := newClock()
	store := newStore()
	here := people.NewTokens(store, people.Options{Now: c.now})
	there := people.NewTokens(store, people.Options{Now: c.now})
	secret, expires, err := people.NewLinks(here).Create(t.Context())
	if err != nil || !expires.Equal(c.at.Add(time.Minute)) {
		t.Fatalf("Create = %v, %v", expires, err)
	}
	if strings.Contains(store.text(t), secret) {
		t.Error("the store holds the link's secret")
	}
	c.forward(59 * time.Second)
	p, err := people.NewLinks(there).Redeem(t.Context(), secret)
	if err != nil || !p.IsOperator() || p.Scope != people.Admin || p.Token == "" || p.Name != p.Token || p.Speaker() != people.OperatorID {
		t.Fatalf("Redeem = %+v, %v", p, err)
	}
	for name, tokens := range map[string]*people.Tokens{"here": here, "there": there} {
		if p, err := people.NewLinks(tokens).Redeem(t.Context(), secret); !errors.Is(err, people.ErrUsedLink) {
			t.Errorf("a replayed link, %s: %+v, %v, want ErrUsedLink", name, p, err)
		}
		if err := tokens.Valid(t.Context(), p); err != nil {
			t.Errorf("Valid, %s: %v", name, err)
		}
	}
}

// TestOldLink: after a minute it opens nothing, and it is no token.
func TestOldLink(t *testing.T) {
	c := newClock()
	tokens := people.NewTokens(newStore(), people.Options{Now: c.now})
	links := people.NewLinks(tokens)
	secret, _, err := links.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p, err := tokens.Authenticate(t.Context(), secret); err == nil {
		t.Errorf("the link is a token: %+v", p)
	}
	c.forward(time.Minute)
	if _, err := links.Redeem(t.Context(), secret); !errors.Is(err, people.ErrUsedLink) {
		t.Errorf("after a minute: %v, want ErrUsedLink", err)
	}
	for _, wrong := range []string{"", "console-", secret + "A"} {
		if _, err := links.Redeem(t.Context(), wrong); !errors.Is(err, people.ErrUsedLink) {
			t.Errorf("Redeem(%q) = %v, want ErrUsedLink", wrong, err)
		}
	}
}

// TestLinkedPageEnds when it logs out, when it is revoked, and with its time.
func TestLinkedPageEnds(t *testing.T) {
	c := newClock()
	tokens := people.NewTokens(newStore(), people.Options{Now: c.now})
	links := people.NewLinks(tokens)
	open := func() people.Principal {
		secret, _, err := links.Create(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p, err := links.Redeem(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	left := open()
	revoked := open()
	kept := open()
	if err := links.End(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Revoke(t.Context(), revoked.Token, ""); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]people.Principal{"logged out": left, "revoked": revoked} {
		if err := tokens.Valid(t.Context(), p); !errors.Is(err, people.ErrRevoked) {
			t.Errorf("%s: Valid = %v, want ErrRevoked", name, err)
		}
	}
	if err := tokens.Valid(t.Context(), kept); err != nil {
		t.Errorf("another page: %v", err)
	}
	if _, _, err := tokens.Rotate(t.Context(), kept.Token, "", 0); err == nil {
		t.Error("the session of a page got a secret")
	}
	c.forward(day(30))
	if err := tokens.Valid(t.Context(), kept); !errors.Is(err, people.ErrExpired) {
		t.Errorf("after a month: %v, want ErrExpired", err)
	}
}

// TestLogoutEndsNoToken that others may use.
func TestLogoutEndsNoToken(t *testing.T) {
	tokens := people.NewTokens(newStore(), people.Options{Configured: "sixteen characters"})
	secret := create(t, tokens, people.NewToken{Name: "laptop", Scope: people.Chat})
	for _, s := range []string{secret, "sixteen characters"} {
		p, err := tokens.Authenticate(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := people.NewLinks(tokens).End(t.Context(), p); err != nil {
			t.Errorf("End = %v", err)
		}
		if _, err := tokens.Authenticate(t.Context(), s); err != nil {
			t.Errorf("after a logout: %v", err)
		}
	}
}

// TestManyLinks: at most ten wait, and the oldest page of many ends.
func TestManyLinks(t *testing.T) {
	c := newClock()
	store := newStore()
	tokens := people.NewTokens(store, people.Options{Now: c.now})
	links := people.NewLinks(tokens)
	var first people.Principal
	for i := range 30 {
		secret, _, err := links.Create(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p, err := links.Redeem(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = p
		}
		c.forward(time.Second)
	}
	if err := tokens.Valid(t.Context(), first); err == nil {
		t.Error("30 pages are open at once")
	}
	for range 10 {
		if _, _, err := links.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := links.Create(t.Context()); err == nil {
		t.Error("an eleventh link was made within a minute")
	}
	c.forward(time.Minute)
	if _, _, err := links.Create(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(store.notes); n > 20 {
		t.Errorf("%d notes are left", n)
	}
}

// TestAny: only a good token that somebody made counts, wherever it was made.
func TestAny(t *testing.T) {
	c := newClock()
	store := newStore()
	here := people.NewTokens(store, people.Options{Now: c.now})
	there := people.NewTokens(store, people.Options{Now: c.now})
	expect := func(when string, want bool) {
		t.Helper()
		c.forward(3 * time.Second) // what is known in memory is at most two seconds old
		for name, tokens := range map[string]*people.Tokens{"here": here, "there": there} {
			if got, err := tokens.Any(t.Context()); err != nil || got != want {
				t.Errorf("%s, %s: Any = %t, %v, want %t", when, name, got, err, want)
			}
		}
	}
	expect("at first", false)
	secret, _, err := people.NewLinks(here).Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := people.NewLinks(here).Redeem(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	expect("with a page that a link opened", false)
	create(t, here, people.NewToken{Name: "laptop", Scope: people.Chat, Lasts: day(1)})
	create(t, here, people.NewToken{Name: "phone", Scope: people.Chat})
	expect("with two tokens", true)
	c.forward(day(1))
	expect("with one that expired", true)
	if _, err := here.Revoke(t.Context(), "phone", ""); err != nil {
		t.Fatal(err)
	}
	expect("after the last one ended", false)
	configured := people.NewTokens(store, people.Options{Configured: "a token of the configuration"})
	if got, err := configured.Any(t.Context()); !got || err != nil {
		t.Errorf("with a configured token: Any = %t, %v", got, err)
	}
}
