package actions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// standingKind are the notes that say what is always allowed in a chat, by the hash of
// what it is.
const standingKind = "always"

// Standing is a call that is always allowed in a chat.
type Standing struct {
	// ID identifies it for Revoke.
	ID   string
	Chat channels.Key
	Tool string
	// Shown are its arguments, perhaps cut.
	Shown string
	// By is the identity that allowed it, and ByName its name.
	By, ByName string
	At         time.Time
}

// standing is the data of its note. It only gains fields.
type standing struct {
	Tool   string    `json:"tool"`
	Shown  string    `json:"shown"`
	By     string    `json:"by"`
	ByName string    `json:"by_name,omitempty"`
	At     time.Time `json:"at"`
}

// stands reports whether the call with that hash is always allowed.
func (b *Book) stands(ctx context.Context, chat channels.Key, hash string) (bool, error) {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: standingKind, Owner: sessions.ChatScope(chat), Name: hash})
	if err != nil {
		return false, fmt.Errorf("actions: read what is always allowed: %w", err)
	}
	return len(notes) > 0, nil
}

// stand keeps that the call of q is always allowed.
func (b *Book) stand(ctx context.Context, q Question) error {
	data, err := json.Marshal(standing{Tool: q.Tool, Shown: q.Shown, By: q.By, ByName: q.ByName, At: q.Decided})
	if err != nil {
		return fmt.Errorf("actions: encode what is always allowed: %w", err)
	}
	err = b.store.ChangeNotes(ctx, standingKind, sessions.ChatScope(q.Chat), func(have []sessions.Note) ([]sessions.Note, []string, error) {
		return []sessions.Note{{Name: q.standing, Data: data}}, nil, nil
	})
	if err != nil {
		return fmt.Errorf("actions: keep what is always allowed: %w", err)
	}
	return nil
}

// Standings lists what is always allowed in a chat, the oldest first; of all chats if it
// is zero.
func (b *Book) Standings(ctx context.Context, chat channels.Key) (list []Standing, err error) {
	f := sessions.NoteFilter{Kind: standingKind}
	if !chat.IsZero() {
		f.Owner = sessions.ChatScope(chat)
	}
	notes, err := b.store.Notes(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("actions: list what is always allowed: %w", err)
	}
	for _, n := range notes {
		var s standing
		k := chatOf(n.Owner)
		if json.Unmarshal(n.Data, &s) != nil || k.IsZero() {
			continue // of a newer version
		}
		list = append(list, Standing{ID: n.Name, Chat: k, Tool: s.Tool, Shown: s.Shown, By: s.By, ByName: s.ByName, At: s.At})
	}
	slices.SortStableFunc(list, func(a, b Standing) int { return a.At.Compare(b.At) })
	return list, nil
}

// Revoke takes back that a call is always allowed. Errors: sessions.ErrNotFound.
func (b *Book) Revoke(ctx context.Context, chat channels.Key, id string) error {
	err := b.store.ChangeNotes(ctx, standingKind, sessions.ChatScope(chat), func(have []sessions.Note) ([]sessions.Note, []string, error) {
		if !slices.ContainsFunc(have, func(n sessions.Note) bool { return n.Name == id }) {
			return nil, nil, sessions.ErrNotFound
		}
		return nil, []string{id}, nil
	})
	if err != nil {
		return fmt.Errorf("actions: revoke: %w", err)
	}
	b.o.Log.Info("what was always allowed is asked about again", "key", chat.String(), "standing", id)
	return nil
}
