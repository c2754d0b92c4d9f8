package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Feed is part of [sessions.Feeds].
func (s *Store) Feed(ctx context.Context, k channels.Key, before int64, limit int) ([]sessions.FeedItem, error) {
	items, err := s.feed(ctx, k, before, max(limit, 0))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, wrap("feed", err)
	}
	return items, nil
}

func (s *Store) feed(ctx context.Context, k channels.Key, before int64, limit int) (items []sessions.FeedItem, err error) {
	key, err := s.keyID(ctx, k)
	if err != nil {
		return nil, err
	}
	from, to := rowID(key, 0), rowID(key, maxSeq)
	if before > 0 {
		to = rowID(key, before-1)
	}
	rows, err := s.rows(ctx, `SELECT `+inColumns+` FROM inbox WHERE id BETWEEN ? AND ? AND origin = 'chat' AND state NOT IN ('edit', 'withdrawn') ORDER BY id DESC LIMIT +?`, from, to, limit)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		w, err := scanIn(rows, k)
		items = append(items, rules.FeedIn(w.seq, w.inbound, w.accepted, w.state))
		return err
	})
	if err != nil {
		return nil, err
	}
	rows, err = s.rows(ctx, `SELECT `+outColumns+` FROM outbox WHERE id BETWEEN ? AND ? AND state NOT IN ('dead', 'dropped') ORDER BY id DESC LIMIT +?`, from, to, limit)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		d, _, err := s.scanOut(rows, k)
		items = append(items, rules.FeedOut(d))
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(items, func(a, b sessions.FeedItem) int { return cmp.Compare(a.Seq, b.Seq) })
	return items[len(items)-min(limit, len(items)):], nil
}
