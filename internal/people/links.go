package people

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"dragoman/sessions"
)

// A one-time link opens the page for whoever runs Dragoman: the secret behind
// its "#" is exchanged for a session. Only its hash is stored, as a note, so
// that any node takes it, and it is removed when it is used.
const (
	codeKind   = "code"
	linkPrefix = "console-" // of the note's name; the hash follows
	// linkLife is how long a link is good: long enough to click on it.
	linkLife = time.Minute
	// maxLinks is how many links may wait to be used.
	maxLinks = 10
	// linkedLife is how long a page that a link opened stays open.
	linkedLife = 30 * 24 * time.Hour
)

// linkRecord is a link in its note. On disk: it only gains fields.
type linkRecord struct {
	Expires time.Time `json:"expires"`
}

// Links are the one-time links to the page.
type Links struct{ tokens *Tokens }

// NewLinks returns the links in the store of t.
func NewLinks(t *Tokens) *Links { return &Links{t} }

// Create makes a link's secret, good for a minute and once.
func (l *Links) Create(ctx context.Context) (secret string, expires time.Time, err error) {
	now := l.tokens.now()
	secret = rand.Text()
	expires = now.Add(linkLife)
	data, err := json.Marshal(linkRecord{Expires: expires})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("people: make a link: %w", err)
	}
	made := sessions.Note{Kind: codeKind, Owner: OperatorID, Name: linkPrefix + hashOf(secret), Due: expires, Data: data}
	err = l.tokens.store.ChangeNotes(ctx, codeKind, OperatorID, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		waiting := 0
		var over []string
		for _, n := range have {
			switch {
			case !strings.HasPrefix(n.Name, linkPrefix):
			case !now.Before(n.Due):
				over = append(over, n.Name)
			default:
				waiting++
			}
		}
		if waiting >= maxLinks {
			return nil, nil, refusef("%d links were made within a minute and none was used: wait a minute", waiting)
		}
		return []sessions.Note{made}, over, nil
	})
	if err != nil {
		return "", time.Time{}, attempt("make a link", err)
	}
	return secret, expires, nil
}

// Redeem uses up a link and returns the operator with scope admin. Their page
// has a token without a secret, so that it is listed and can be revoked like
// any other; [Links.End] ends it. Errors: ErrUsedLink.
func (l *Links) Redeem(ctx context.Context, secret string) (Principal, error) {
	name := linkPrefix + hashOf(secret)
	now := l.tokens.now()
	err := l.tokens.store.ChangeNotes(ctx, codeKind, OperatorID, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		for _, n := range have {
			if n.Name == name && now.Before(n.Due) {
				return nil, []string{name}, nil
			}
		}
		return nil, nil, ErrUsedLink
	})
	if err != nil {
		return Principal{}, fmt.Errorf("people: use a link: %w", err)
	}
	opened := named{name: linkedPrefix + newID()[:8], person: OperatorID, record: record{
		ID: newID(), Scope: Admin, Created: now, Expires: now.Add(linkedLife), Used: now.Truncate(time.Hour),
	}}
	if err := l.tokens.put(ctx, opened); err != nil {
		return Principal{}, err
	}
	return opened.principal(""), nil
}

// linkedPrefix begins the names of the pages that a link opened.
const linkedPrefix = "page-"

// Speaker is the name by which people know p: that of a page that a link opened would say
// nothing to them.
func (p Principal) Speaker() string {
	if p.SecretID == "" && p.Name == p.Token && strings.HasPrefix(p.Token, linkedPrefix) {
		return OperatorID
	}
	return p.Name
}

// End ends the session of a page that a link opened. It does nothing for p
// with any other token, which others may use.
func (l *Links) End(ctx context.Context, p Principal) error {
	return l.tokens.endLinked(ctx, p)
}
