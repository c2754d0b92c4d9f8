package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"dragoman/sessions"
)

const (
	noteKind = "mcp-login"
	noteName = "oauth"
	// freshFor is how old the copy in memory may be: another node may have refreshed.
	freshFor = 10 * time.Second
	// early is how long before its end a token is refreshed; of a short one, a quarter.
	early = time.Minute
	// pauseFor is how long a refresh that failed, or that a refusal led to, is not tried again.
	pauseFor = 15 * time.Second
)

// kept is the stored form of a login.
type kept struct {
	place
	URL      string    `json:"url"`
	ClientID string    `json:"client"`
	Access   string    `json:"access,omitempty"`
	Refresh  string    `json:"refresh,omitempty"`
	Scope    string    `json:"scope,omitempty"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until,omitzero"`
	// Lost says that a refresh was refused. There are no tokens then.
	Lost bool `json:"lost,omitempty"`
}

func (l *Login) owner() string { return "server " + l.Server }

// current is the stored login, at most freshFor old; nil: there is none.
func (l *Login) current(ctx context.Context) (*kept, error) {
	l.mu.Lock()
	k := l.copy
	fresh := l.o.Now().Sub(l.read) < freshFor
	l.mu.Unlock()
	if fresh {
		return k, nil
	}
	return l.reread(ctx)
}

func (l *Login) reread(ctx context.Context) (*kept, error) {
	list, err := l.o.Notes.Notes(ctx, sessions.NoteFilter{Kind: noteKind, Owner: l.owner(), Name: noteName})
	if err != nil {
		return nil, fmt.Errorf("oauth: read the login at %s: %w", l.Server, err)
	}
	return l.remember(list), nil
}

// remember keeps what the notes say in memory.
func (l *Login) remember(list []sessions.Note) *kept {
	k := readKept(list)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.copy = k
	l.read = l.o.Now()
	return k
}

func readKept(list []sessions.Note) *kept {
	for _, n := range list {
		k := &kept{}
		if n.Name == noteName && json.Unmarshal(n.Data, k) == nil {
			return k
		}
	}
	return nil
}

// usable says why the tokens of k may not be used; nil: they may.
func (l *Login) usable(k *kept) error {
	switch {
	case k == nil:
		return l.needed("it needs a login")
	case k.URL != l.URL || k.ClientID != l.ClientID || l.Issuer != "" && !sameIssuer(k.Issuer, l.Issuer):
		return l.needed("the login was for another url, client or issuer than the configuration has now")
	case k.Lost || k.Access == "":
		return l.needed("the login has ended")
	}
	return nil
}

// isDue reports whether the token should be refreshed before it is used.
func (l *Login) isDue(k *kept) bool {
	if k.Until.IsZero() {
		return false
	}
	before := min(early, k.Until.Sub(k.At)/4)
	return !l.o.Now().Before(k.Until.Add(-before))
}

// errFresh means that a server refused a token, and the one before it.
var errFresh = errors.New("the server refuses each token")

// token is the access token for a request. bad is one that the server has just refused.
func (l *Login) token(ctx context.Context, bad string) (string, error) {
	k, err := l.current(ctx)
	if err == nil {
		err = l.usable(k)
	}
	if err != nil {
		return "", l.noted(err)
	}
	if bad == "" && !l.isDue(k) || bad != "" && k.Access != bad {
		return k.Access, l.noted(nil)
	}
	l.mu.Lock()
	paused := l.o.Now().Before(l.pause)
	l.mu.Unlock()
	if bad == "" && paused && l.o.Now().Before(k.Until) {
		return k.Access, l.noted(nil)
	}
	var access string
	err = l.o.Hold(ctx, noteKind+":"+l.Server, func(ctx context.Context) error {
		// What was begun is finished: the server may have dropped the former token already.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience)
		defer cancel()
		var failed error
		access, failed = l.refresh(ctx, bad)
		return failed
	})
	return access, l.noted(err)
}

// noted remembers err for [Login.Failure].
func (l *Login) noted(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
	return err
}

// refresh gets a new token, unless somebody else has done so meanwhile. The lease is held.
func (l *Login) refresh(ctx context.Context, bad string) (string, error) {
	k, err := l.reread(ctx)
	if err == nil {
		err = l.usable(k)
	}
	if err != nil {
		return "", err
	}
	lasts := k.Until.IsZero() || l.o.Now().Before(k.Until)
	switch {
	case bad == "" && !l.isDue(k), bad != "" && k.Access != bad:
		return k.Access, nil
	case bad != "" && !l.mayRetry():
		return "", errFresh
	case k.Refresh == "" && bad == "" && lasts:
		return k.Access, nil
	case k.Refresh == "":
		return "", l.lose(ctx, k)
	}
	got, err := l.grant(ctx, &k.place, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {k.Refresh}})
	refused, is := errors.AsType[*declined](err)
	switch {
	case is && refused.isOurs():
		return "", fmt.Errorf("the authorization server does not know us (%s): see oauth.client_id and client_secret", refused.code)
	case is:
		return "", l.lose(ctx, k)
	case err != nil && bad == "" && lasts:
		l.mu.Lock()
		l.pause = l.o.Now().Add(pauseFor)
		l.mu.Unlock()
		return k.Access, nil
	case err != nil:
		// The cause may have words of the server, and this error is for models, too.
		return "", errors.New("its token has ended, and the authorization server gives no new one now")
	}
	if got.refresh == "" {
		got.refresh = k.Refresh
	}
	return got.access, l.put(ctx, l.made(&k.place, got), k)
}

// mayRetry reports whether a refusal leads to a refresh: at most one in pauseFor does, because
// some servers refuse each token.
func (l *Login) mayRetry() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	if now.Sub(l.refused) < pauseFor {
		return false
	}
	l.refused = now
	return true
}

// made is the stored form of what was granted.
func (l *Login) made(p *place, got *granted) *kept {
	now := l.o.Now().UTC()
	k := &kept{place: *p, URL: l.URL, ClientID: l.ClientID, Access: got.access, Refresh: got.refresh, Scope: got.scope, At: now}
	if got.life > 0 {
		k.Until = now.Add(got.life)
	}
	return k
}

func (l *Login) keepNew(ctx context.Context, p *place, got *granted) error {
	return l.put(ctx, l.made(p, got), nil)
}

// lose drops the tokens of k, and says so.
func (l *Login) lose(ctx context.Context, k *kept) error {
	without := *k
	without.Access = ""
	without.Refresh = ""
	without.Lost = true
	if err := l.put(ctx, &without, k); err != nil {
		return err
	}
	return l.needed("the login has ended")
}

// put stores k in place of before; nil: of whatever is there. If that has changed meanwhile,
// as by a logout, it stays as it is now.
func (l *Login) put(ctx context.Context, k, before *kept) error {
	data, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("oauth: keep the login at %s: %w", l.Server, err)
	}
	var now []sessions.Note
	err = l.o.Notes.ChangeNotes(ctx, noteKind, l.owner(), func(have []sessions.Note) ([]sessions.Note, []string, error) {
		now = have
		old := readKept(have)
		if before != nil && (old == nil || old.Access != before.Access) {
			return nil, nil, nil
		}
		now = []sessions.Note{{Name: noteName, Data: data}}
		return now, nil, nil
	})
	if err != nil {
		return fmt.Errorf("oauth: keep the login at %s: %w", l.Server, err)
	}
	l.remember(now)
	return nil
}

// Logout drops the tokens, and asks the authorization server to do so, too. had: there were
// some. told: the server has answered that they are void.
func (l *Login) Logout(ctx context.Context) (had, told bool, err error) {
	var k *kept
	err = l.o.Notes.ChangeNotes(ctx, noteKind, l.owner(), func(have []sessions.Note) ([]sessions.Note, []string, error) {
		k = readKept(have)
		if k == nil {
			return nil, nil, nil
		}
		return nil, []string{noteName}, nil
	})
	if err != nil {
		return false, false, fmt.Errorf("oauth: drop the login at %s: %w", l.Server, err)
	}
	l.remember(nil)
	if k == nil || l.usable(k) != nil || k.Revoke == "" {
		return k != nil, false, nil
	}
	form := url.Values{"token": {k.Access}, "token_type_hint": {"access_token"}}
	if k.Refresh != "" {
		form = url.Values{"token": {k.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	c := l.client()
	resp, err := l.post(ctx, c, &k.place, k.Revoke, form)
	if err != nil {
		return true, false, nil // it is told
	}
	_ = resp.Body.Close()
	return true, resp.StatusCode == 200, nil
}
