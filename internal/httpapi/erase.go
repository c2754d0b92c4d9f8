package httpapi

import (
	"context"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// resolve makes a channel and an id of what an operator wrote.
func (a *admin) resolve(ctx context.Context, target string) (channels.Key, error) {
	if k, err := channels.ParseKey(target); err == nil {
		return k, nil
	}
	people, err := a.Store.Pairings(ctx, a.Now())
	if err != nil {
		return channels.Key{}, err
	}
	var found []channels.Key
	for _, p := range people {
		if k, err := channels.NewKey(p.Channel, p.PersonID); err == nil && target != "" && strings.EqualFold(p.Name, target) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return channels.Key{}, &badRequest{"this is neither a conversation's key, nor a person like telegram:123456, nor the name of somebody who was paired"}
	case 1:
		return found[0], nil
	}
	return channels.Key{}, &badRequest{fmt.Sprintf("several people were paired under this name: write %s or %s", found[0], found[1])}
}

// erase carries out a plan. What was cut off before goes first; it is the whole
// answer if it was the same. Once begun it goes on without who asked.
func (a *admin) erase(ctx context.Context, r *request) (any, error) {
	var e sessions.Erasure
	if err := r.decode(&e); err != nil {
		return nil, err
	}
	if len(e.Keys)+len(e.Senders)+len(e.Scopes) == 0 {
		return nil, &badRequest{"there is nothing to erase"}
	}
	ctx = context.WithoutCancel(ctx)
	a.erasing.Lock()
	defer a.erasing.Unlock()
	defer a.Room()()
	before, got, err := a.finish(ctx)
	if err != nil {
		return nil, fmt.Errorf("an erasure that was cut off before could not be finished: %w", err)
	}
	if before != nil && before.covers(e) {
		return got, nil
	}
	got, known, err := a.carryOut(ctx, e)
	if err == nil && nothing(got) && !known {
		err = errNothing
	}
	if err != nil {
		return nil, err
	}
	return got, nil
}

// Finished tells what became of an erasure that was cut off.
type Finished struct {
	// Found says that there was one.
	Found bool `json:"found"`
}

// finishErase carries out again what was cut off, if there is anything.
func (a *admin) finishErase(ctx context.Context, _ *request) (any, error) {
	a.erasing.Lock()
	defer a.erasing.Unlock()
	if i, err := a.unfinished(); i == nil && err == nil {
		return Finished{}, nil
	}
	defer a.Room()()
	before, _, err := a.finish(context.WithoutCancel(ctx))
	return Finished{Found: before != nil}, err
}

// errNothing: nothing of what was to be erased was there.
var errNothing = fmt.Errorf("httpapi: erase: %w", sessions.ErrNotFound)

func nothing(e sessions.Erased) bool {
	return e.Conversations+e.Messages+e.Queued+e.Facts+e.Summaries+e.Pairings+e.Noted+len(e.Copies)+len(e.Files) == 0
}
