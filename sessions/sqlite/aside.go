package sqlite

import (
	"context"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// SetAside is part of [sessions.Inbox].
func (s *Store) SetAside(ctx context.Context, a sessions.Aside) error {
	raw := append([]byte{}, a.Raw...)
	return s.update(ctx, "set aside", func(t *tx) error {
		return t.exec(`INSERT INTO aside (channel, msg_id, at, why, raw) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			a.Channel, a.ID, nanos(t.now), rules.Text(a.Why), raw)
	})
}

// Settle is part of [sessions.Inbox].
func (s *Store) Settle(ctx context.Context, channel, id string) error {
	return s.update(ctx, "settle", func(t *tx) error {
		return t.exec(`UPDATE aside SET dropped = 1, why = ? || why WHERE channel = ? AND msg_id = ? AND dropped = 0`,
			rules.CameLater, channel, id)
	})
}

func (t *tx) dropAside(id string, row int64) error {
	n, err := t.changed(`UPDATE aside SET dropped = 1 WHERE id = ? AND dropped = 0`, row)
	if err == nil && n == 0 {
		err = isDone(id, rules.AsideGone)
	}
	return err
}
