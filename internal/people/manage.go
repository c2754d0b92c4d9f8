package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/sessions"
)

// NewToken is what a new token shall be.
type NewToken struct {
	Name string
	// Person is the [Principal.ID] of whoever shows it. "": the operator.
	Person string
	Scope  Scope
	// Lasts is how long it is good. Zero: until it is revoked.
	Lasts time.Duration
}

const (
	// maxName is how long the name of a token may be.
	maxName = 40
	// maxTokens is how many good tokens a person may have, maxLinked how many
	// pages that a link opened (the oldest ends), and maxEnded how many ended
	// ones stay listed. Together they are fewer than the store has room for.
	maxTokens = 20
	maxLinked = 10
	maxEnded  = 10
	// maxGrace is how long a secret that was replaced may be good.
	maxGrace = 30 * 24 * time.Hour
)

// Refusal is an error that the caller is to read: often a mistake of theirs.
type Refusal struct{ Sentence string }

func (e *Refusal) Error() string { return e.Sentence }

// Plain says that the sentence is for people as it is.
func (e *Refusal) Plain() string { return e.Sentence }

func refusef(format string, args ...any) error {
	return &Refusal{Sentence: fmt.Sprintf(format, args...)}
}

// attempt says what failed, unless the caller is told in a sentence anyway.
func attempt(what string, err error) error {
	if _, refused := errors.AsType[*Refusal](err); err == nil || refused {
		return err
	}
	return fmt.Errorf("people: %s: %w", what, err)
}

// Create makes a token and returns its secret, which is stored nowhere. A token
// that has ended gives its name to the new one. Errors: *Refusal.
func (t *Tokens) Create(ctx context.Context, want NewToken) (Token, string, error) {
	want.Person = cmp.Or(want.Person, OperatorID)
	if err := cmp.Or(checkTokenName(want.Name), checkPerson(want.Person), checkWanted(want)); err != nil {
		return Token{}, "", err
	}
	others, err := t.byName(ctx, want.Name)
	if err != nil {
		return Token{}, "", err
	}
	for _, other := range others {
		if other.person != want.Person && other.check(t.now()) == nil {
			return Token{}, "", refusef("%s has a token of this name already: choose another", other.person)
		}
	}
	secret := newSecret()
	made := named{name: want.Name, person: want.Person, record: record{ID: newID(), Scope: want.Scope, Created: t.now(), Lasts: want.Lasts}}
	made.renew(secret, t.now(), 0)
	if err := t.put(ctx, made); err != nil {
		return Token{}, "", err
	}
	return made.shown(t.now()), secret, nil
}

// put stores a new token. It removes what has to make room for it.
func (t *Tokens) put(ctx context.Context, made named) error {
	err := t.store.ChangeNotes(ctx, TokenKind, made.person, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		var good, linked, ended []named
		for _, old := range readTokens(have) {
			isGood := old.check(t.now()) == nil
			switch {
			case isGood && old.name == made.name:
				return nil, nil, refusef("there is a token %s already: revoke it, or give it a new secret with rotate", old.name)
			case old.name == made.name: // it is replaced
			case !isGood:
				ended = append(ended, old)
			case old.isLinked():
				linked = append(linked, old)
			default:
				good = append(good, old)
			}
		}
		if len(good) >= maxTokens && !made.isLinked() {
			return nil, nil, refusef("%s has %d tokens already: revoke one", made.person, len(good))
		}
		remove := append(oldest(ended, maxEnded), oldest(linked, maxLinked-1)...)
		n, err := made.note()
		return []sessions.Note{n}, remove, err
	})
	t.forget()
	return attempt("create the token "+made.name, err)
}

// oldest are the names of all but the newest keep.
func oldest(list []named, keep int) []string {
	slices.SortFunc(list, func(a, b named) int { return b.Created.Compare(a.Created) })
	var names []string
	for i, t := range list {
		if i >= keep {
			names = append(names, t.name)
		}
	}
	return names
}

// List returns all tokens by name, also those that ended in the last month.
func (t *Tokens) List(ctx context.Context) ([]Token, error) {
	list, err := t.all(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.person, b.person))
	})
	shown := make([]Token, 0, len(list))
	for _, found := range list {
		shown = append(shown, found.shown(t.now()))
	}
	return shown, nil
}

// Revoke ends a token. Whatever it let in ends within 5 seconds. person is
// needed only if two have a token of that name. Errors: sessions.ErrNotFound,
// *Refusal.
func (t *Tokens) Revoke(ctx context.Context, name, person string) (Token, error) {
	return t.changeOne(ctx, name, person, func(found *named) error {
		found.Revoked = t.now()
		return nil
	})
}

// Rotate gives a token a new secret and returns it. The one before it is good
// for grace; 0: no longer. The token ends as long from now as it was made to
// last. Errors: those of Revoke.
func (t *Tokens) Rotate(ctx context.Context, name, person string, grace time.Duration) (Token, string, error) {
	if grace < 0 || grace > maxGrace {
		return Token{}, "", refusef("the old secret can be good for at most 30 days more")
	}
	var secret string
	shown, err := t.changeOne(ctx, name, person, func(found *named) error {
		if found.isLinked() {
			return refusef("%s is a page that was opened by a link and has no secret: it can only be revoked", name)
		}
		secret = newSecret()
		found.renew(secret, t.now(), grace)
		return nil
	})
	if err != nil {
		return Token{}, "", err
	}
	return shown, secret, nil
}

// changeOne changes the good token of that name.
func (t *Tokens) changeOne(ctx context.Context, name, person string, change func(*named) error) (Token, error) {
	owner, err := t.owner(ctx, name, person)
	if err != nil {
		return Token{}, err
	}
	var after named
	err = t.change(ctx, name, owner, func(found *named) error {
		if found.check(t.now()) != nil {
			return refusef("the token %s has ended already", name)
		}
		if err := change(found); err != nil {
			return err
		}
		after = *found
		return nil
	})
	if err != nil {
		return Token{}, err
	}
	return after.shown(t.now()), nil
}

// endLinked revokes the token of p if it has no secret.
func (t *Tokens) endLinked(ctx context.Context, p Principal) error {
	if p.Token == "" || p.Token == ConfiguredName {
		return nil
	}
	return t.change(ctx, p.Token, p.ID, func(found *named) error {
		if found.ID == p.TokenID && found.isLinked() && found.Revoked.IsZero() {
			found.Revoked = t.now()
		}
		return nil
	})
}

// owner is whose token has that name. Errors: sessions.ErrNotFound, *Refusal if
// two have one.
func (t *Tokens) owner(ctx context.Context, name, person string) (string, error) {
	if person != "" {
		return person, nil
	}
	found, err := t.byName(ctx, name)
	if err != nil {
		return "", err
	}
	good := slices.DeleteFunc(slices.Clone(found), func(n named) bool { return n.check(t.now()) != nil })
	if len(good) > 0 {
		found = good
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("people: no token is called %q: %w", name, sessions.ErrNotFound)
	case 1:
		return found[0].person, nil
	}
	return "", refusef("%s and %s both have a token of this name: name the person, too", found[0].person, found[1].person)
}

// change changes one token in its note. Errors: sessions.ErrNotFound.
func (t *Tokens) change(ctx context.Context, name, person string, change func(*named) error) error {
	err := t.store.ChangeNotes(ctx, TokenKind, person, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		for _, n := range have {
			if n.Name != name {
				continue
			}
			found, err := readToken(n)
			if err != nil {
				return nil, nil, err
			}
			if err := change(&found); err != nil {
				return nil, nil, err
			}
			changed, err := found.note()
			return []sessions.Note{changed}, nil, err
		}
		return nil, nil, sessions.ErrNotFound
	})
	t.forget()
	return attempt("change the token "+name, err)
}

// all reads all tokens from the store.
func (t *Tokens) all(ctx context.Context) ([]named, error) {
	notes, err := t.store.Notes(ctx, sessions.NoteFilter{Kind: TokenKind})
	if err != nil {
		return nil, fmt.Errorf("people: list the tokens: %w", err)
	}
	return readTokens(notes), nil
}

// byName returns the tokens of that name, one a person.
func (t *Tokens) byName(ctx context.Context, name string) ([]named, error) {
	list, err := t.all(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(n named) bool { return n.name != name }), nil
}

// checkTokenName refuses names that people could not type, or that mean something else.
func checkTokenName(name string) error {
	fits := len(name) > 0 && len(name) <= maxName
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '-' && r != '_' {
			fits = false
		}
	}
	if !fits {
		return refusef("the name of a token has 1 to %d letters, digits, - and _", maxName)
	}
	if strings.HasPrefix(name, secretPrefix) {
		return refusef("that looks like a token: choose a name for it")
	}
	return nil
}

// checkPerson refuses what can be nobody.
func checkPerson(id string) error {
	if id == OperatorID {
		return nil
	}
	channel, rest, _ := strings.Cut(id, ":")
	if channel == "" || rest == "" || len(id) > sessions.MaxNoteName || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' }) {
		return refusef("a person is %q or an identity of a network, like telegram:123456", OperatorID)
	}
	return nil
}

// checkWanted refuses a scope that there is not, and a token that has ended
// before it began.
func checkWanted(want NewToken) error {
	if !Admin.Includes(want.Scope) {
		return refusef("a token needs a scope: %s", ScopeWords())
	}
	if want.Lasts < 0 {
		return refusef("a token cannot end in the past")
	}
	return nil
}
