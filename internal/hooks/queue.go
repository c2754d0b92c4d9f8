package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/sessions"
)

// Lane is that of letters in the queue of the operator.
const Lane sessions.Lane = "hook"

// itemID is the id of a letter in the queue: hook/NAME/msg_….
func itemID(e *envelope) string { return string(Lane) + "/" + e.Hook + "/" + e.id }

// Owns reports whether an id of the queue is that of a letter.
func Owns(id string) bool { return strings.HasPrefix(id, string(Lane)+"/") }

// List lists the letters as entries of the queue, the dead ones too, oldest first.
func (h *Hooks) List(ctx context.Context) ([]sessions.QueueItem, error) {
	all, err := h.letters(ctx, "", "")
	if err != nil {
		return nil, err
	}
	items := make([]sessions.QueueItem, 0, len(all))
	for i := range all {
		items = append(items, h.item(&all[i]))
	}
	slices.SortStableFunc(items, func(a, b sessions.QueueItem) int { return a.At.Compare(b.At) })
	return items, nil
}

func (h *Hooks) item(e *envelope) sessions.QueueItem {
	it := sessions.QueueItem{
		ID: itemID(e), Lane: Lane, Channel: e.Hook, Key: e.Key, State: sessions.QueueState(sessions.DeliveryQueued), Attempts: e.Attempts,
		At: e.Since, NotBefore: e.due, Error: e.Error, Bytes: len(e.Body),
	}
	if e.Dead {
		it.State = sessions.QueueDead
	} else if h.named(e.Hook) == nil {
		it.Error = "the configuration has no hook " + e.Hook
	}
	return it
}

// named is the sender of that name; nil if there is none.
func (h *Hooks) named(name string) *sender {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.senders {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// find is the letter with an id of the queue. Errors: sessions.ErrNotFound.
func (h *Hooks) find(ctx context.Context, id string) (envelope, error) {
	name := id[strings.LastIndexByte(id, '/')+1:]
	if name != "" {
		all, err := h.letters(ctx, "", name)
		if err != nil {
			return envelope{}, err
		}
		for i := range all {
			if itemID(&all[i]) == id {
				return all[i], nil
			}
		}
	}
	return envelope{}, fmt.Errorf("hooks: find %s: %w", id, sessions.ErrNotFound)
}

// Show returns a letter with its text. Errors: sessions.ErrNotFound.
func (h *Hooks) Show(ctx context.Context, id string) (sessions.QueueItem, error) {
	e, err := h.find(ctx, id)
	if err != nil {
		return sessions.QueueItem{}, err
	}
	it := h.item(&e)
	it.Text = string(e.Body)
	return it, nil
}

// Retry sends a letter again now, with all its attempts before it, and switches its hook on.
// Errors: sessions.ErrNotFound.
func (h *Hooks) Retry(ctx context.Context, id string) error {
	e, err := h.find(ctx, id)
	if err != nil {
		return err
	}
	if err := h.setOff(ctx, e.Hook, ""); err != nil {
		return fmt.Errorf("hooks: retry %s: %w", id, err)
	}
	e.Dead = false
	e.Attempts = 0
	e.due = h.opts.Now()
	if err := h.change(ctx, &e); err != nil {
		return fmt.Errorf("hooks: retry %s: %w", id, err)
	}
	if s := h.named(e.Hook); s != nil {
		s.ring()
	}
	return nil
}

// Drop gives a letter up. Errors: sessions.ErrNotFound.
func (h *Hooks) Drop(ctx context.Context, id string) error {
	e, err := h.find(ctx, id)
	if err != nil {
		return err
	}
	if err := h.remove(ctx, &e); err != nil {
		return fmt.Errorf("hooks: drop %s: %w", id, err)
	}
	return nil
}

// Off are the names of the hooks that their servers have switched off.
func (h *Hooks) Off() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, s := range h.senders {
		if s.off.Load() {
			names = append(names, s.Name)
		}
	}
	return names
}
