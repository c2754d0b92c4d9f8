package people

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"dragoman/sessions"
)

// TokenKind is the kind of the notes that hold tokens. A note's owner is the
// person, so that erasing the person ends their tokens; its name is the
// token's; it is due when the token ends, and the store keeps it for a month
// after that, so that "why did it stop working" has an answer.
const TokenKind = "token"

// record is a token in its note. On disk: it only gains fields.
type record struct {
	// ID tells this token from a later one of the same name.
	ID      string    `json:"id"`
	Scope   Scope     `json:"scope"`
	Created time.Time `json:"created"`
	// Expires is when it ends; zero: when it is revoked.
	Expires time.Time `json:"expires,omitzero"`
	// Lasts is how long a new secret of it is good. Zero: until it is revoked.
	Lasts   time.Duration `json:"lasts,omitempty"`
	Used    time.Time     `json:"used,omitzero"` // rounded down to the hour
	Revoked time.Time     `json:"revoked,omitzero"`
	// Secrets are the newest and those before it that are good for a while. A
	// token that a one-time link opened has none.
	Secrets []secretHash `json:"secrets,omitempty"`
}

// secretHash is what is kept of one secret.
type secretHash struct {
	Hash   string `json:"hash"`   // SHA-256, in hex
	Begins string `json:"begins"` // the first 8 characters
	// Until is when it ends although the token goes on; zero: with the token.
	Until time.Time `json:"until,omitzero"`
}

// named is a record with what its note says about it.
type named struct {
	record
	name, person string
}

// readToken reads a note.
func readToken(n sessions.Note) (named, error) {
	t := named{name: n.Name, person: n.Owner}
	if err := json.Unmarshal(n.Data, &t.record); err != nil {
		return t, fmt.Errorf("people: read the token %q: %w", n.Name, err)
	}
	return t, nil
}

// readTokens reads all notes of one person or of all. One that cannot be read
// lets nobody in, and must not keep others out.
func readTokens(notes []sessions.Note) []named {
	list := make([]named, 0, len(notes))
	for _, n := range notes {
		if t, err := readToken(n); err == nil {
			list = append(list, t)
		}
	}
	return list
}

// note is t as it is stored.
func (t named) note() (sessions.Note, error) {
	data, err := json.Marshal(t.record)
	if err != nil {
		return sessions.Note{}, fmt.Errorf("people: store the token %q: %w", t.name, err)
	}
	n := sessions.Note{Kind: TokenKind, Owner: t.person, Name: t.name, Due: t.Expires, Data: data}
	if !t.Revoked.IsZero() {
		n.Due = t.Revoked
	}
	return n, nil
}

// check says why the token is not good at now. Errors: ErrRevoked, ErrExpired.
func (t named) check(now time.Time) error {
	if !t.Revoked.IsZero() {
		return ErrRevoked
	}
	if !t.Expires.IsZero() && !now.Before(t.Expires) {
		return ErrExpired
	}
	return nil
}

// checkSecret is check for one secret of the token.
func (t named) checkSecret(s secretHash, now time.Time) error {
	err := t.check(now)
	if err == nil && !s.Until.IsZero() && !now.Before(s.Until) {
		return ErrExpired
	}
	return err
}

// id is the [Principal.SecretID] of whoever shows s.
func (s secretHash) id() string { return s.Hash[:16] }

// checkOpened is check for what the secret with that id opened. Errors: also
// ErrUnknownToken if a rotation has ended it.
func (t named) checkOpened(id string, now time.Time) error {
	if id == "" {
		return t.check(now)
	}
	for _, s := range t.Secrets {
		if s.id() == id {
			return t.checkSecret(s, now)
		}
	}
	return cmp.Or(t.check(now), ErrUnknownToken)
}

// isLinked reports whether a one-time link made it, for the page that it opened.
func (t named) isLinked() bool { return len(t.Secrets) == 0 }

// principal is who shows the token, by the secret with that id.
func (t named) principal(secretID string) Principal {
	return Principal{ID: t.person, Name: t.name, Scope: t.Scope, Token: t.name, TokenID: t.ID, SecretID: secretID}
}

// renew gives the token a new secret, and the ones before it until now+grace.
func (t *named) renew(secret string, now time.Time, grace time.Duration) {
	end := now.Add(grace)
	for i, s := range t.Secrets {
		ends := s.Until
		if ends.IsZero() {
			ends = t.Expires
		}
		if ends.IsZero() || end.Before(ends) {
			ends = end
		}
		t.Secrets[i].Until = ends
	}
	t.Secrets = slices.DeleteFunc(t.Secrets, func(s secretHash) bool { return !now.Before(s.Until) })
	newest := secretHash{Hash: hashOf(secret), Begins: secret[:beginningSize]}
	t.Secrets = append([]secretHash{newest}, t.Secrets...)
	t.Expires = time.Time{}
	if t.Lasts > 0 {
		t.Expires = now.Add(t.Lasts)
	}
}

// shown is t as lists show it.
func (t named) shown(now time.Time) Token {
	shown := Token{
		Name: t.name, Person: t.person, Scope: t.Scope, Created: t.Created, Expires: t.Expires,
		LastUsed: t.Used, Revoked: t.Revoked, Linked: t.isLinked(),
	}
	for i, s := range t.Secrets {
		if i == 0 {
			shown.Begins = s.Begins
			continue
		}
		if now.Before(s.Until) && s.Until.After(shown.Grace) {
			shown.Grace = s.Until
		}
	}
	return shown
}
