package api

import (
	"cmp"
	"context"
	"fmt"

	"dragoman/channels"
	"dragoman/sessions"
)

// beginningItems is how many items are read of a conversation that begins. More people wait
// for no first answer.
const beginningItems = 50

// beginning is a conversation whose first turn has not ended. It has no transcript yet,
// perhaps for long: the turn may wait for a yes. But what was asked can be read, and so can
// the question about the call. Errors: ErrNotFound if nothing waits in k.
func (s *server) beginning(ctx context.Context, k channels.Key) (Conversation, error) {
	items, err := s.Store.Feed(ctx, k, 0, beginningItems)
	if err != nil {
		return Conversation{}, err
	}
	begun := Conversation{Key: k}
	for _, it := range items {
		if !it.Waiting {
			continue
		}
		if begun.Created.IsZero() {
			begun.Created = it.At
		}
		begun.Updated = it.At
		begun.Derived = cmp.Or(begun.Derived, firstWords(it.Text, derivedSize))
	}
	if begun.Created.IsZero() {
		return Conversation{}, fmt.Errorf("api: conversation %s: %w", k, sessions.ErrNotFound)
	}
	return begun, nil
}
