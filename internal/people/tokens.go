package people

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"maps"
	"sync"
	"time"

	"dragoman/sessions"
)

// Notes is the store, by what most of this package does with it. The comments at
// engine.Store are the contract.
type Notes interface {
	Notes(ctx context.Context, like sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error
}

// Token is a named token as lists show it. Nothing in it lets anybody in.
type Token struct {
	Name   string
	Person string
	Scope  Scope
	// Begins are the first 8 characters of its newest secret.
	Begins  string
	Created time.Time
	Expires time.Time // zero: when it is revoked
	// LastUsed is rounded down to the hour. Zero: never used.
	LastUsed time.Time
	Revoked  time.Time // zero: it was not
	// Grace is until when the secret before a rotation is good. Zero: it is not.
	Grace time.Time
	// Linked: a one-time link opened a page, and this is its session. It has no secret.
	Linked bool
}

// Options configure Tokens.
type Options struct {
	// Configured is the token of the configuration, "" if it has none. It is
	// the operator's and has the scope operate, never admin.
	Configured string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// ConfiguredName is the [Principal.Token] of the token in the configuration.
// No named token can have this name.
const ConfiguredName = "http.token"

// ProxiedName is the [Principal.Token] of those of whom a proxy says who they are. No
// named token can have this name.
const ProxiedName = "http.identities"

const (
	// freshFor is how old the copy of the tokens in memory may be. A revoked
	// token must be refused within 5 seconds, on every node.
	freshFor = 2 * time.Second
	// staleFor is how long the copy serves while the store cannot be read.
	staleFor = 5 * time.Second
	// askAgain is how often somebody with unknown tokens can make us read them.
	askAgain = 100 * time.Millisecond
	// readWithin bounds one reading of the store.
	readWithin = 5 * time.Second
)

// Tokens are the named tokens of a store and the one of the configuration. It
// keeps a copy of them in memory that is at most 2 seconds old, so that
// [Tokens.Authenticate] and [Tokens.Valid] are cheap enough for every request.
type Tokens struct {
	store      Notes
	now        func() time.Time
	configured []byte // its SHA-256; nil: there is none

	mu     sync.Mutex
	loaded time.Time // when the copy was read; zero: never
	dirty  bool      // this process has changed a token since
	secret map[string]*named
	ids    map[string]*named
	tried  map[string]time.Time // token's ID -> the hour whose use is on disk
}

// NewTokens returns the tokens in store. It reads nothing yet.
func NewTokens(store Notes, o Options) *Tokens {
	if o.Now == nil {
		o.Now = time.Now
	}
	t := &Tokens{store: store, now: o.Now, tried: map[string]time.Time{}}
	if o.Configured != "" {
		sum := sha256.Sum256([]byte(o.Configured))
		t.configured = sum[:]
	}
	return t
}

// Authenticate finds out who shows a secret. Errors: ErrMistyped,
// ErrUnknownToken, ErrExpired, ErrRevoked; any other says that the store could
// not be asked, so that the caller should try again.
func (t *Tokens) Authenticate(ctx context.Context, secret string) (Principal, error) {
	if t.isConfigured(secret) {
		return Principal{ID: OperatorID, Name: OperatorID, Scope: Operate, Token: ConfiguredName}, nil
	}
	if err := checkForm(secret); err != nil {
		return Principal{}, err
	}
	found, shown, err := t.find(ctx, hashOf(secret))
	if err != nil {
		return Principal{}, err
	}
	t.markUsed(ctx, found)
	return found.principal(shown.id()), nil
}

// Valid reports whether the token that let p in is still good, and the secret of it that
// was shown: nil if so, and for a principal without a token. Whoever keeps a connection open for p asks
// every other second and ends it on ErrRevoked, ErrExpired or ErrUnknownToken.
// Any other error says that the store cannot be asked for more than 5 seconds.
func (t *Tokens) Valid(ctx context.Context, p Principal) error {
	if p.Token == "" {
		return nil
	}
	if p.Token == ConfiguredName {
		if t.configured == nil {
			return ErrUnknownToken
		}
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(ctx, freshFor); err != nil {
		return err
	}
	found := t.ids[p.TokenID]
	if found == nil || found.name != p.Token || found.person != p.ID || found.Scope != p.Scope {
		return ErrUnknownToken
	}
	return found.checkOpened(p.SecretID, t.now())
}

// Any reports whether there is a good token that somebody configured or created. Pages
// that a link opened do not count. The error says that the store cannot be asked.
func (t *Tokens) Any(ctx context.Context) (bool, error) {
	if t.configured != nil {
		return true, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(ctx, freshFor); err != nil {
		return false, err
	}
	now := t.now()
	for _, found := range t.ids {
		if !found.isLinked() && found.check(now) == nil {
			return true, nil
		}
	}
	return false, nil
}

// isConfigured compares in constant time.
func (t *Tokens) isConfigured(secret string) bool {
	sum := sha256.Sum256([]byte(secret))
	return t.configured != nil && subtle.ConstantTimeCompare(sum[:], t.configured) == 1
}

// find returns the good token that has a secret with this hash.
func (t *Tokens) find(ctx context.Context, hash string) (named, secretHash, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(ctx, freshFor); err != nil {
		return named{}, secretHash{}, err
	}
	found := t.secret[hash]
	if found == nil { // another node may have made it a moment ago
		if err := t.refresh(ctx, askAgain); err != nil {
			return named{}, secretHash{}, err
		}
		found = t.secret[hash]
	}
	if found == nil {
		return named{}, secretHash{}, ErrUnknownToken
	}
	for _, s := range found.Secrets {
		if subtle.ConstantTimeCompare([]byte(s.Hash), []byte(hash)) == 1 {
			return *found, s, found.checkSecret(s, t.now())
		}
	}
	return named{}, secretHash{}, ErrUnknownToken
}

// refresh reads the tokens again if the copy is older than age. If the store
// cannot be read, the copy serves until it is staleFor old. The caller holds
// t.mu, so that many requests make one reading.
func (t *Tokens) refresh(ctx context.Context, age time.Duration) error {
	now := t.now()
	old := now.Sub(t.loaded)
	if !t.dirty && !t.loaded.IsZero() && old >= 0 && old <= age {
		return nil
	}
	// A caller that hangs up must not fail the others.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	notes, err := t.store.Notes(ctx, sessions.NoteFilter{Kind: TokenKind})
	if err != nil {
		if !t.loaded.IsZero() && old >= 0 && old <= staleFor {
			return nil
		}
		return fmt.Errorf("people: read the tokens: %w", err)
	}
	t.loaded = now
	t.dirty = false
	t.secret = map[string]*named{}
	t.ids = map[string]*named{}
	for _, found := range readTokens(notes) {
		t.ids[found.ID] = &found
		for _, s := range found.Secrets {
			t.secret[s.Hash] = &found
		}
	}
	maps.DeleteFunc(t.tried, func(id string, _ time.Time) bool { return t.ids[id] == nil })
	return nil
}

// forget makes the next question read the tokens again.
func (t *Tokens) forget() {
	t.mu.Lock()
	t.dirty = true
	t.mu.Unlock()
}

// markUsed stores the hour in which a token was used last. That is one write
// an hour. If it fails, the list of tokens is old by an hour, and nobody is
// refused for that.
func (t *Tokens) markUsed(ctx context.Context, used named) {
	hour := t.now().Truncate(time.Hour)
	t.mu.Lock()
	known := t.tried[used.ID]
	t.tried[used.ID] = hour
	t.mu.Unlock()
	if !hour.After(known) || !hour.After(used.Used) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	_ = t.change(ctx, used.name, used.person, func(now *named) error {
		if now.ID == used.ID && hour.After(now.Used) {
			now.Used = hour
		}
		return nil
	})
}

// newID returns a random name for a record.
func newID() string {
	sum := sha256.Sum256([]byte(newSecret()))
	return hex.EncodeToString(sum[:8])
}
