package people_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/internal/people"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// clock is a clock that tests move.
type clock struct{ at time.Time }

func newClock() *clock                   { return &clock{time.Date(2026, 11, 28, 10, 20, 30, 0, time.UTC)} }
func (c *clock) now() time.Time          { return c.at }
func (c *clock) forward(d time.Duration) { c.at = c.at.Add(d) }
func (c *clock) hour() time.Time         { return c.at.Truncate(time.Hour) }
func day(n int) time.Duration            { return time.Duration(n) * 24 * time.Hour }

// create makes a token and fails the test if that fails.
func create(t *testing.T, tokens *people.Tokens, want people.NewToken) string {
	t.Helper()
	_, secret, err := tokens.Create(t.Context(), want)
	if err != nil {
		t.Fatalf("Create(%+v) = %v", want, err)
	}
	return secret
}

// TestTokenLetsItsPersonIn: the one who shows it is the person that it was made
// for, with its scope, also for another process on the same store.
func TestTokenLetsItsPersonIn(t *testing.T) {
	c := newClock()
	store := newStore()
	here := people.NewTokens(store, people.Options{Now: c.now})
	there := people.NewTokens(store, people.Options{Now: c.now})
	secret := create(t, here, people.NewToken{Name: "laptop", Person: "telegram:42", Scope: people.Read})
	for i, tokens := range []*people.Tokens{here, there} {
		got, err := tokens.Authenticate(t.Context(), secret)
		want := people.Principal{ID: "telegram:42", Name: "laptop", Scope: people.Read, Token: "laptop", TokenID: got.TokenID, SecretID: got.SecretID}
		if err != nil || got != want || got.TokenID == "" || got.SecretID == "" {
			t.Errorf("process %d: Authenticate = %+v, %v, want %+v", i, got, err, want)
		}
		if err := tokens.Valid(t.Context(), got); err != nil {
			t.Errorf("process %d: Valid = %v", i, err)
		}
	}
}

// TestTokenForm: scanners find it, and nothing that lets anybody in is stored.
func TestTokenForm(t *testing.T) {
	store := newStore()
	tokens := people.NewTokens(store, people.Options{})
	form := regexp.MustCompile(`^drg_[A-Z2-7]{33}$`)
	seen := map[string]bool{}
	for i := range 10 {
		secret := create(t, tokens, people.NewToken{Name: fmt.Sprintf("t%d", i), Scope: people.Chat})
		if !form.MatchString(secret) || seen[secret] {
			t.Errorf("the token %q has another form, or came twice", secret)
		}
		seen[secret] = true
		if all := store.text(t); strings.Contains(all, secret[8:30]) {
			t.Errorf("the store holds the secret: %s", all)
		} else if !strings.Contains(all, `"begins":"`+secret[:8]+`"`) {
			t.Errorf("the store lacks the beginning %s: %s", secret[:8], all)
		}
	}
}

// TestMistypedTokenIsToldWithoutLooking: one wrong character is a typing error,
// and the store is not asked.
func TestMistypedTokenIsToldWithoutLooking(t *testing.T) {
	store := newStore()
	tokens := people.NewTokens(store, people.Options{})
	secret := create(t, tokens, people.NewToken{Name: "laptop", Scope: people.Chat})
	before := store.reads
	for i := len("drg_"); i < len(secret); i++ {
		other := byte('A')
		if secret[i] == other {
			other = 'B'
		}
		wrong := secret[:i] + string(other) + secret[i+1:]
		if p, err := tokens.Authenticate(t.Context(), wrong); !errors.Is(err, people.ErrMistyped) {
			t.Errorf("Authenticate(%s) = %+v, %v, want ErrMistyped", wrong, p, err)
		}
	}
	for _, wrong := range []string{secret[:36], secret + "A", "drg_"} {
		if _, err := tokens.Authenticate(t.Context(), wrong); !errors.Is(err, people.ErrMistyped) {
			t.Errorf("Authenticate(%s) = %v, want ErrMistyped", wrong, err)
		}
	}
	for _, wrong := range []string{"", " ", "password", strings.ToLower(secret[:4]) + "x", "DRG_" + secret[4:]} {
		if _, err := tokens.Authenticate(t.Context(), wrong); err == nil {
			t.Errorf("Authenticate(%q) let somebody in", wrong)
		}
	}
	if store.reads != before {
		t.Errorf("the store was read %d times for mistyped tokens", store.reads-before)
	}
}

// TestEndedTokens: expired and revoked ones are told apart from those that
// nobody has, and end what they let in.
func TestEndedTokens(t *testing.T) {
	c := newClock()
	store := newStore()
	tokens := people.NewTokens(store, people.Options{Now: c.now})
	short := create(t, tokens, people.NewToken{Name: "short", Scope: people.Chat, Lasts: time.Hour})
	long := create(t, tokens, people.NewToken{Name: "long", Scope: people.Chat})
	shorts, _ := tokens.Authenticate(t.Context(), short)
	longs, _ := tokens.Authenticate(t.Context(), long)
	c.forward(time.Hour)
	if _, err := tokens.Authenticate(t.Context(), short); !errors.Is(err, people.ErrExpired) {
		t.Errorf("after an hour: %v, want ErrExpired", err)
	}
	if err := tokens.Valid(t.Context(), shorts); !errors.Is(err, people.ErrExpired) {
		t.Errorf("Valid after an hour: %v, want ErrExpired", err)
	}
	if _, err := tokens.Authenticate(t.Context(), long); err != nil {
		t.Errorf("the other one: %v", err)
	}
	if _, err := tokens.Revoke(t.Context(), "long", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Authenticate(t.Context(), long); !errors.Is(err, people.ErrRevoked) {
		t.Errorf("after Revoke: %v, want ErrRevoked", err)
	}
	if err := tokens.Valid(t.Context(), longs); !errors.Is(err, people.ErrRevoked) {
		t.Errorf("Valid after Revoke: %v, want ErrRevoked", err)
	}
	store.erase("operator")
	c.forward(3 * time.Second)
	if _, err := tokens.Authenticate(t.Context(), long); !errors.Is(err, people.ErrUnknownToken) {
		t.Errorf("after the person was erased: %v, want ErrUnknownToken", err)
	}
	if err := tokens.Valid(t.Context(), longs); !errors.Is(err, people.ErrUnknownToken) {
		t.Errorf("Valid after the person was erased: %v, want ErrUnknownToken", err)
	}
}

// TestRevocationReachesOtherNodes: within 5 seconds, and a token made there is
// known here at once.
func TestRevocationReachesOtherNodes(t *testing.T) {
	c := newClock()
	store := newStore()
	here := people.NewTokens(store, people.Options{Now: c.now})
	there := people.NewTokens(store, people.Options{Now: c.now})
	secret := create(t, here, people.NewToken{Name: "laptop", Scope: people.Chat})
	p, err := there.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := here.Revoke(t.Context(), "laptop", ""); err != nil {
		t.Fatal(err)
	}
	c.forward(5 * time.Second)
	if err := there.Valid(t.Context(), p); !errors.Is(err, people.ErrRevoked) {
		t.Errorf("Valid on another node after 5 s = %v, want ErrRevoked", err)
	}
	c.forward(time.Second)
	second := create(t, here, people.NewToken{Name: "phone", Scope: people.Chat})
	if _, err := there.Authenticate(t.Context(), second); err != nil {
		t.Errorf("a new token on another node: %v", err)
	}
}

// TestValidIsCheap: a thousand questions in a second read the store once.
func TestValidIsCheap(t *testing.T) {
	c := newClock()
	store := newStore()
	tokens := people.NewTokens(store, people.Options{Now: c.now})
	secret := create(t, tokens, people.NewToken{Name: "laptop", Scope: people.Chat})
	p, _ := tokens.Authenticate(t.Context(), secret)
	c.forward(time.Minute)
	before := store.reads
	for range 1000 {
		c.forward(time.Millisecond)
		if err := tokens.Valid(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if _, err := tokens.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	if n := store.reads - before; n != 1 {
		t.Errorf("the store was read %d times, want 1", n)
	}
}

// TestStoreThatCannotBeRead: for 5 seconds what was known goes on; then nobody
// gets in, and is told something else than that the token is wrong.
func TestStoreThatCannotBeRead(t *testing.T) {
	c := newClock()
	store := newStore()
	tokens := people.NewTokens(store, people.Options{Now: c.now, Configured: "a configured secret"})
	secret := create(t, tokens, people.NewToken{Name: "laptop", Scope: people.Chat})
	p, err := tokens.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	store.fail = errors.New("the disk is gone")
	c.forward(4 * time.Second)
	if _, err := tokens.Authenticate(t.Context(), secret); err != nil {
		t.Errorf("after 4 s: %v", err)
	}
	c.forward(2 * time.Second)
	_, err = tokens.Authenticate(t.Context(), secret)
	if !errors.Is(err, store.fail) {
		t.Errorf("after 6 s: %v, want the store's error", err)
	}
	if err := tokens.Valid(t.Context(), p); !errors.Is(err, store.fail) {
		t.Errorf("Valid after 6 s: %v, want the store's error", err)
	}
	if _, err := tokens.Authenticate(t.Context(), "a configured secret"); err != nil {
		t.Errorf("the token of the configuration needs no store: %v", err)
	}
}

// TestSameNameIsAnotherToken: what a revoked token let in does not live again
// when its name is given to a new one.
func TestSameNameIsAnotherToken(t *testing.T) {
	c := newClock()
	tokens := people.NewTokens(newStore(), people.Options{Now: c.now})
	want := people.NewToken{Name: "laptop", Scope: people.Chat}
	first := create(t, tokens, want)
	p, _ := tokens.Authenticate(t.Context(), first)
	if _, _, err := tokens.Create(t.Context(), want); err == nil {
		t.Error("a second token of the same name was made")
	}
	want.Person = "telegram:42"
	if _, _, err := tokens.Create(t.Context(), want); err == nil {
		t.Error("another person got a token of the same name")
	}
	if _, err := tokens.Revoke(t.Context(), "laptop", ""); err != nil {
		t.Fatal(err)
	}
	want.Person = ""
	create(t, tokens, want)
	if err := tokens.Valid(t.Context(), p); err == nil {
		t.Error("the first token's principal is valid again")
	}
	if _, err := tokens.Authenticate(t.Context(), first); err == nil {
		t.Error("the first token's secret is good again")
	}
}

// TestRotate: both secrets are good for the grace, and then only the new one,
// which lasts as long as the token was made for. What a secret opened ends with it.
func TestRotate(t *testing.T) {
	c := newClock()
	tokens := people.NewTokens(newStore(), people.Options{Now: c.now})
	first := create(t, tokens, people.NewToken{Name: "laptop", Scope: people.Chat, Lasts: day(90)})
	p, _ := tokens.Authenticate(t.Context(), first)
	c.forward(day(80))
	shown, second, err := tokens.Rotate(t.Context(), "laptop", "", 24*time.Hour)
	if err != nil || !shown.Expires.Equal(c.at.Add(day(90))) || !shown.Grace.Equal(c.at.Add(day(1))) || shown.Begins != second[:8] {
		t.Fatalf("Rotate = %+v, %v", shown, err)
	}
	c.forward(23 * time.Hour)
	var now people.Principal
	for i, secret := range []string{first, second} {
		got, err := tokens.Authenticate(t.Context(), secret)
		if err != nil || got.TokenID != p.TokenID {
			t.Errorf("in the grace, secret %d: %+v, %v", i, got, err)
		}
		if err := tokens.Valid(t.Context(), got); err != nil {
			t.Errorf("in the grace, what secret %d opened: %v", i, err)
		}
		now = got
	}
	c.forward(time.Hour)
	if _, err := tokens.Authenticate(t.Context(), first); !errors.Is(err, people.ErrExpired) {
		t.Errorf("after the grace: %v, want ErrExpired", err)
	}
	if err := tokens.Valid(t.Context(), p); !errors.Is(err, people.ErrExpired) {
		t.Errorf("after the grace, what the old secret opened: %v, want ErrExpired", err)
	}
	if err := tokens.Valid(t.Context(), now); err != nil {
		t.Errorf("after the grace, what the new secret opened: %v", err)
	}
	_, third, err := tokens.Rotate(t.Context(), "laptop", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Authenticate(t.Context(), second); err == nil {
		t.Error("without a grace the old secret is still good")
	}
	if err := tokens.Valid(t.Context(), now); err == nil {
		t.Error("without a grace, what the old secret opened goes on")
	}
	if _, err := tokens.Authenticate(t.Context(), third); err != nil {
		t.Error(err)
	}
	if _, _, err := tokens.Rotate(t.Context(), "laptop", "", day(31)); err == nil {
		t.Error("a grace of 31 days was taken")
	}
	if _, _, err := tokens.Rotate(t.Context(), "nothing", "", 0); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("Rotate of no token = %v, want ErrNotFound", err)
	}
}

// TestGraceDoesNotOutliveTheToken: the replaced secret ends when it would have ended.
func TestGraceDoesNotOutliveTheToken(t *testing.T) {
	c := newClock()
	tokens := people.NewTokens(newStore(), people.Options{Now: c.now})
	first := create(t, tokens, people.NewToken{Name: "laptop", Scope: people.Chat, Lasts: day(2)})
	if _, _, err := tokens.Rotate(t.Context(), "laptop", "", day(10)); err != nil {
		t.Fatal(err)
	}
	c.forward(day(2) - time.Second)
	if _, _, err := tokens.Rotate(t.Context(), "laptop", "", day(10)); err != nil {
		t.Fatal(err)
	}
	c.forward(time.Second)
	if _, err := tokens.Authenticate(t.Context(), first); !errors.Is(err, people.ErrExpired) {
		t.Errorf("after two days: %v, want ErrExpired", err)
	}
}

// TestLastUse is written once an hour, and cannot bring back a revoked token.
func TestLastUse(t *testing.T) {
	c := newClock()
	store := newStore()
	tokens := people.NewTokens(store, people.Options{Now: c.now})
	secret := create(t, tokens, people.NewToken{Name: "laptop", Scope: people.Chat})
	before := store.writes
	first := c.hour()
	for range 50 {
		if _, err := tokens.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		c.forward(time.Second)
	}
	if n := store.writes - before; n != 1 {
		t.Errorf("%d writes in a minute, want 1", n)
	}
	list, err := tokens.List(t.Context())
	if err != nil || len(list) != 1 || !list[0].LastUsed.Equal(first) {
		t.Errorf("List = %+v, %v, want the use at %v", list, err, first)
	}
	store.failWrite = errors.New("the disk is full")
	c.forward(time.Hour)
	if _, err := tokens.Authenticate(t.Context(), secret); err != nil {
		t.Errorf("a full disk kept somebody out: %v", err)
	}
}

// TestList shows all of a token but what lets somebody in.
func TestList(t *testing.T) {
	c := newClock()
	tokens := people.NewTokens(newStore(), people.Options{Now: c.now})
	begun := c.at
	second := create(t, tokens, people.NewToken{Name: "b", Person: "irc:ann", Scope: people.Chat, Lasts: day(90)})
	first := create(t, tokens, people.NewToken{Name: "a", Scope: people.Admin})
	c.forward(time.Minute)
	if _, err := tokens.Revoke(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	got, err := tokens.List(t.Context())
	want := []people.Token{
		{Name: "a", Person: "operator", Scope: people.Admin, Begins: first[:8], Created: begun, Revoked: c.at},
		{Name: "b", Person: "irc:ann", Scope: people.Chat, Begins: second[:8], Created: begun, Expires: begun.Add(day(90))},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("List: %v\n%s", err, diff)
	}
}

// TestCreateRefuses what makes no sense, in a sentence, and stores nothing.
func TestCreateRefuses(t *testing.T) {
	store := newStore()
	tokens := people.NewTokens(store, people.Options{})
	good := people.NewToken{Name: "laptop", Scope: people.Chat}
	for name, change := range map[string]func(*people.NewToken){
		"no name":            func(n *people.NewToken) { n.Name = "" },
		"a name with spaces": func(n *people.NewToken) { n.Name = "my laptop" },
		"the configured one": func(n *people.NewToken) { n.Name = people.ConfiguredName },
		"a long name":        func(n *people.NewToken) { n.Name = strings.Repeat("a", 41) },
		"a secret as a name": func(n *people.NewToken) { n.Name = "drg_ABC" },
		"no scope":           func(n *people.NewToken) { n.Scope = "" },
		"an unknown scope":   func(n *people.NewToken) { n.Scope = "root" },
		"a past end":         func(n *people.NewToken) { n.Lasts = -1 },
		"a bare person":      func(n *people.NewToken) { n.Person = "ann" },
		"no id":              func(n *people.NewToken) { n.Person = "telegram:" },
		"no channel":         func(n *people.NewToken) { n.Person = ":42" },
		"a long person":      func(n *people.NewToken) { n.Person = "irc:" + strings.Repeat("a", 200) },
	} {
		want := good
		change(&want)
		_, secret, err := tokens.Create(t.Context(), want)
		if _, refused := errors.AsType[*people.Refusal](err); !refused || secret != "" {
			t.Errorf("%s: Create = %q, %v, want a refusal", name, secret, err)
		}
	}
	if store.writes != 0 {
		t.Errorf("%d writes", store.writes)
	}
}

// TestTokensHaveALimit: a person has at most 20, and those that ended make room.
func TestTokensHaveALimit(t *testing.T) {
	c := newClock()
	store := newStore()
	tokens := people.NewTokens(store, people.Options{Now: c.now})
	for i := range 60 {
		name := fmt.Sprintf("t%d", i)
		create(t, tokens, people.NewToken{Name: name, Scope: people.Chat})
		c.forward(time.Second)
		if _, err := tokens.Revoke(t.Context(), name, ""); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		create(t, tokens, people.NewToken{Name: fmt.Sprintf("good%d", i), Scope: people.Chat})
	}
	if _, _, err := tokens.Create(t.Context(), people.NewToken{Name: "more", Scope: people.Chat}); err == nil {
		t.Error("a 21st token was made")
	}
	if n := len(store.notes); n > 40 {
		t.Errorf("the operator has %d notes", n)
	}
}

// TestConfiguredToken goes on working, as the operator with scope operate.
func TestConfiguredToken(t *testing.T) {
	tokens := people.NewTokens(newStore(), people.Options{Configured: "sixteen characters"})
	p, err := tokens.Authenticate(t.Context(), "sixteen characters")
	want := people.Principal{ID: "operator", Name: "operator", Scope: people.Operate, Token: people.ConfiguredName}
	if err != nil || p != want || p.May(people.Admin) {
		t.Errorf("Authenticate = %+v, %v, want %+v", p, err, want)
	}
	if err := tokens.Valid(t.Context(), p); err != nil {
		t.Error(err)
	}
	without := people.NewTokens(newStore(), people.Options{})
	if err := without.Valid(t.Context(), p); err == nil {
		t.Error("it is valid where none is configured")
	}
	if _, err := without.Authenticate(t.Context(), ""); err == nil {
		t.Error("an empty secret is good where none is configured")
	}
}

// TestDamagedRecord: one note that cannot be read lets nobody in and keeps
// nobody out.
func TestDamagedRecord(t *testing.T) {
	c := newClock()
	store := newStore()
	tokens := people.NewTokens(store, people.Options{Now: c.now})
	good := create(t, tokens, people.NewToken{Name: "good", Scope: people.Chat})
	bad := create(t, tokens, people.NewToken{Name: "bad", Scope: people.Chat})
	i := slices.IndexFunc(store.notes, func(n sessions.Note) bool { return n.Name == "bad" })
	store.notes[i].Data = []byte(`{"secrets": 7}`)
	c.forward(time.Minute)
	if _, err := tokens.Authenticate(t.Context(), good); err != nil {
		t.Error(err)
	}
	if _, err := tokens.Authenticate(t.Context(), bad); !errors.Is(err, people.ErrUnknownToken) {
		t.Errorf("Authenticate = %v, want ErrUnknownToken", err)
	}
}

// TestTwoPersonsOneName: older stores may have it; then the person must be named.
func TestTwoPersonsOneName(t *testing.T) {
	c := newClock()
	store := newStore()
	tokens := people.NewTokens(store, people.Options{Now: c.now})
	create(t, tokens, people.NewToken{Name: "laptop", Scope: people.Chat})
	twin := store.notes[0]
	twin.Owner = "irc:ann"
	store.notes = append(store.notes, twin)
	_, err := tokens.Revoke(t.Context(), "laptop", "")
	if _, refused := errors.AsType[*people.Refusal](err); !refused {
		t.Errorf("Revoke = %v, want a refusal", err)
	}
	if got, err := tokens.Revoke(t.Context(), "laptop", "irc:ann"); err != nil || got.Person != "irc:ann" {
		t.Errorf("Revoke = %+v, %v", got, err)
	}
}
