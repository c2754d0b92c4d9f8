package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dragoman/channels"
)

// previewPrefix begins the ids that [Hub.Preview] returns, so that Send knows
// its own.
const previewPrefix = "preview-"

// Send implements [channels.Channel]. The message stands in the feed already;
// Send tells the viewers of its room. It never waits for one.
func (h *Hub) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	if err := h.check(m.Key); err != nil {
		return channels.Receipt{}, fmt.Errorf("live: send: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, &channels.NotSent{Err: err}
	}
	r := h.enter(m.Key)
	defer h.leave(r)
	turn, _ := strings.CutPrefix(m.Edit, previewPrefix)
	it := &Item{ID: m.ID, From: FromDragoman, Text: clean(m.Text), At: time.Now(), Replaces: turn}
	it.mark()
	h.follow(ctx, r, it)
	h.news(ctx, r, word{Kind: newsWord, ID: m.ID, Turn: turn})
	return channels.Receipt{MessageID: m.ID}, nil
}

// Typing implements [channels.Typer].
func (h *Hub) Typing(_ context.Context, k channels.Key) error {
	if err := h.check(k); err != nil {
		return fmt.Errorf("live: typing: %w", err)
	}
	r := h.enter(k)
	defer h.leave(r)
	r.sign(time.Now())
	r.signed()
	h.stir()
	return nil
}

// Preview implements [channels.Previewer].
func (h *Hub) Preview(_ context.Context, p channels.Preview) (string, error) {
	if err := h.check(p.Key); err != nil {
		return "", fmt.Errorf("live: preview: %w", err)
	}
	r := h.enter(p.Key)
	defer h.leave(r)
	r.show(p, time.Now())
	r.signed()
	h.stir()
	return previewPrefix + p.Turn, nil
}

// Retract implements [channels.Retractor].
func (h *Hub) Retract(ctx context.Context, k channels.Key, messageID string) error {
	if err := h.check(k); err != nil {
		return fmt.Errorf("live: retract: %w", err)
	}
	turn, ours := strings.CutPrefix(messageID, previewPrefix)
	if !ours {
		return nil
	}
	r := h.enter(k)
	defer h.leave(r)
	r.retract(turn)
	h.news(ctx, r, word{Kind: overWord, Turn: turn})
	return nil
}

// PreviewEvery implements [channels.Previewer].
func (h *Hub) PreviewEvery() time.Duration { return previewEvery }

// ShowsThoughts implements [channels.Thinker].
func (h *Hub) ShowsThoughts() bool { return h.opts.Thoughts }

// check refuses keys that are not ours for good, and everything for now while
// Run does not run.
func (h *Hub) check(k channels.Key) error {
	if k.Channel() != h.opts.Name {
		return fmt.Errorf("%w: key %q does not belong to channel %q", channels.ErrPermanent, k, h.opts.Name)
	}
	if _, err := h.key(k.Chat()); err != nil {
		return fmt.Errorf("%w: no room %q", channels.ErrPermanent, k)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.intake == nil {
		return &channels.NotSent{Err: errNotRunning}
	}
	return nil
}
