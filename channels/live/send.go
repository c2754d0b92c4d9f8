package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dragoman/channels"
)

// previewPrefix marks the ids that [Hub.Preview] returns.
const previewPrefix = "preview-"

// Send implements [channels.Channel]. The message is already in the feed; Send shows it
// to the viewers of its room and waits for none of them.
func (h *Hub) Send(ctx context.Context, m channels.Outbound) (channels.Receipt, error) {
	if err := h.check(m.Key); err != nil {
		return channels.Receipt{}, fmt.Errorf("live: send: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, &channels.NotSent{Err: err}
	}
	r := h.acquire(m.Key)
	defer h.release(r)
	turn, _ := strings.CutPrefix(m.Edit, previewPrefix)
	it := &Item{ID: m.ID, From: FromDragoman, Text: clean(m.Text), At: time.Now(), Replaces: turn, Failed: m.Kind == channels.KindApology, Wants: m.Kind == channels.KindForm}
	if len(m.Choices) > 0 && m.Kind == channels.KindQuestion { // others put a reminder off
		it.Asks = m.Choices[0].Subject
	}
	h.follow(ctx, r, it)
	h.notifyPeers(ctx, r, peerMessage{Kind: peerFeedChanged, ID: m.ID, Preview: Preview{Turn: turn}})
	return channels.Receipt{MessageID: m.ID}, nil
}

// Typing implements [channels.Typer].
func (h *Hub) Typing(_ context.Context, k channels.Key) error {
	if err := h.check(k); err != nil {
		return fmt.Errorf("live: typing: %w", err)
	}
	r := h.acquire(k)
	defer h.release(r)
	r.showTyping(time.Now())
	r.noteLocal()
	h.wakeBroadcaster()
	return nil
}

// Preview implements [channels.Previewer].
func (h *Hub) Preview(_ context.Context, p channels.Preview) (string, error) {
	if err := h.check(p.Key); err != nil {
		return "", fmt.Errorf("live: preview: %w", err)
	}
	r := h.acquire(p.Key)
	defer h.release(r)
	r.show(p, time.Now())
	r.noteLocal()
	h.wakeBroadcaster()
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
	r := h.acquire(k)
	defer h.release(r)
	r.retract(turn)
	h.notifyPeers(ctx, r, peerMessage{Kind: peerPreviewEnded, Preview: Preview{Turn: turn}})
	return nil
}

// PreviewEvery implements [channels.Previewer].
func (h *Hub) PreviewEvery() time.Duration { return previewEvery }

// ShowsThoughts implements [channels.Thinker].
func (h *Hub) ShowsThoughts() bool { return h.opts.Thoughts }

// check returns a permanent error for keys of another channel, and NotSent while Run
// is not running.
func (h *Hub) check(k channels.Key) error {
	if k.Channel() != h.opts.Name {
		return fmt.Errorf("%w: key %q does not belong to channel %q", channels.ErrPermanent, k, h.opts.Name)
	}
	if !h.isRoom(k) {
		return fmt.Errorf("%w: no room %q", channels.ErrPermanent, k)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.intake == nil {
		return &channels.NotSent{Err: errNotRunning}
	}
	return nil
}
