package hooks

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// Store keeps the letters: an engine.Store.
type Store interface {
	Notes(ctx context.Context, f sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error
}

const (
	// letterKind are the notes that are letters. The owner of one is its conversation,
	// with which it is erased; its name is its webhook-id.
	letterKind = "webhook"
	// offKind are the notes about hooks that are off, by the hook's name.
	offKind = "webhook-off"
	// nobody owns what belongs to no conversation.
	nobody = "operator"
)

// letter is the data of a note: an event on its way to one hook. It only gains fields.
type letter struct {
	Hook     string          `json:"hook"`
	Event    stream.Name     `json:"event"`
	Key      channels.Key    `json:"key,omitzero"`
	Body     json.RawMessage `json:"body"`
	Since    time.Time       `json:"since"`
	Attempts int             `json:"attempts,omitempty"`
	Error    string          `json:"error,omitempty"` // of the last attempt
	Dead     bool            `json:"dead,omitempty"`  // it is not sent by itself any more
}

// off is the data of a note about a hook that is off. It only gains fields.
type off struct {
	URL string `json:"url"` // a hash of it: another URL is on
}

// envelope is a letter and the note that it is in.
type envelope struct {
	letter
	id, owner string
	due       time.Time
}

// newID is a webhook-id that nothing else has.
func newID() string { return "msg_" + rand.Text() }

func ownerOf(k channels.Key) string {
	if k.IsZero() {
		return nobody
	}
	return sessions.ChatScope(k)
}

// letterOf is an event on its way to s.
func letterOf(s *sender, id string, e *stream.Event) (envelope, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return envelope{}, fmt.Errorf("hooks: encode an event: %w", err)
	}
	l := letter{Hook: s.Name, Event: e.Event, Key: e.Key, Body: body, Since: e.At}
	return envelope{letter: l, id: id, owner: ownerOf(e.Key), due: e.At}, nil
}

// note is how the store keeps e.
func (e *envelope) note() (sessions.Note, error) {
	data, err := json.Marshal(e.letter)
	if err != nil {
		return sessions.Note{}, fmt.Errorf("hooks: encode a letter: %w", err)
	}
	return sessions.Note{Kind: letterKind, Owner: e.owner, Name: e.id, Due: e.due, Data: data}, nil
}

// put stores e as it is now.
func (h *Hooks) put(ctx context.Context, e *envelope) error {
	n, err := e.note()
	if err != nil {
		return err
	}
	return h.opts.Store.ChangeNotes(ctx, letterKind, e.owner, func([]sessions.Note) ([]sessions.Note, []string, error) {
		return []sessions.Note{n}, nil, nil
	})
}

// change stores e as it is now, if it is still there: its conversation may have been erased
// meanwhile.
func (h *Hooks) change(ctx context.Context, e *envelope) error {
	n, err := e.note()
	if err != nil {
		return err
	}
	return h.opts.Store.ChangeNotes(ctx, letterKind, e.owner, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		if !slices.ContainsFunc(have, func(one sessions.Note) bool { return one.Name == e.id }) {
			return nil, nil, nil
		}
		return []sessions.Note{n}, nil, nil
	})
}

// remove forgets a letter.
func (h *Hooks) remove(ctx context.Context, e *envelope) error {
	return h.opts.Store.ChangeNotes(ctx, letterKind, e.owner, func([]sessions.Note) ([]sessions.Note, []string, error) {
		return nil, []string{e.id}, nil
	})
}

// letters are those of one hook, or of all, the soonest due first. With an id it is the
// one that has it.
func (h *Hooks) letters(ctx context.Context, hook, id string) ([]envelope, error) {
	if h.opts.Store == nil {
		return nil, nil
	}
	notes, err := h.opts.Store.Notes(ctx, sessions.NoteFilter{Kind: letterKind, Name: id})
	if err != nil {
		return nil, fmt.Errorf("hooks: read the letters: %w", err)
	}
	var all []envelope
	for _, n := range notes {
		e := envelope{id: n.Name, owner: n.Owner, due: n.Due}
		if err := json.Unmarshal(n.Data, &e.letter); err != nil {
			continue // of a newer version
		}
		if hook == "" || e.Hook == hook {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b envelope) int { return a.due.Compare(b.due) })
	return all, nil
}

// isOff reports whether s was switched off by its server.
func (h *Hooks) isOff(ctx context.Context, s *sender) (bool, error) {
	notes, err := h.opts.Store.Notes(ctx, sessions.NoteFilter{Kind: offKind, Owner: nobody, Name: s.Name})
	if err != nil {
		return false, fmt.Errorf("hooks: read which hooks are off: %w", err)
	}
	for _, n := range notes {
		var o off
		if json.Unmarshal(n.Data, &o) == nil && o.URL == hashOf(s.URL) {
			return true, nil
		}
	}
	return false, nil
}

// setOff switches a hook off, or on again with an empty URL.
func (h *Hooks) setOff(ctx context.Context, hook, url string) error {
	if url == "" {
		return h.opts.Store.ChangeNotes(ctx, offKind, nobody, func([]sessions.Note) ([]sessions.Note, []string, error) {
			return nil, []string{hook}, nil
		})
	}
	data, err := json.Marshal(off{hashOf(url)})
	if err != nil {
		return err
	}
	return h.opts.Store.ChangeNotes(ctx, offKind, nobody, func([]sessions.Note) ([]sessions.Note, []string, error) {
		return []sessions.Note{{Name: hook, Data: data}}, nil, nil
	})
}

// hashOf names a URL, which may have a secret in its path.
func hashOf(url string) string {
	sum := sha256.Sum256([]byte(url))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
}
