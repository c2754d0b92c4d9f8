package sqlite

import (
	"context"
	"errors"
	"time"

	"dragoman/channels"
)

// Expire is part of [sessions.Lifetime].
func (s *Store) Expire(ctx context.Context, before time.Time, limit int) (gone []channels.Key, err error) {
	var hidden []int64
	err = s.update(ctx, "expire", func(t *tx) error {
		gone, err = t.expired(before, limit)
		for _, k := range gone {
			var id int64
			r, err := t.conversation(k)
			if err == nil {
				id, err = t.end(r)
			}
			if err != nil {
				return err
			}
			if id != 0 {
				hidden = append(hidden, id)
			}
		}
		if err != nil {
			return err
		}
		rest, err := t.expireRest(before, limit)
		hidden = append(hidden, rest...)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.sweep(ctx, hidden)
	return gone, nil
}

// expireRest deletes what was last asked or answered before where there is no
// conversation: commands, what a job told, what was on its way when a
// conversation was deleted. It returns what has to be swept.
func (t *tx) expireRest(before time.Time, limit int) (hidden []int64, err error) {
	rows, err := t.rows(`SELECT key FROM keys k WHERE NOT EXISTS (SELECT 1 FROM conversations WHERE key_id = k.id)
		AND max(coalesce((SELECT max(accepted) FROM inbox WHERE id BETWEEN k.id << 32 AND k.id << 32 | 4294967295), 0),
			coalesce((SELECT max(created) FROM outbox WHERE id BETWEEN k.id << 32 AND k.id << 32 | 4294967295), 0)) BETWEEN 1 AND ?`, nanos(before)-1)
	if err != nil {
		return nil, err
	}
	var keys []channels.Key
	err = each(rows, func() error {
		var name string
		var k channels.Key
		if err := rows.Scan(&name); err != nil {
			return err
		}
		if err := parseKey(&k, name); err != nil {
			return err
		}
		if t.idle(k) && len(keys) < limit {
			keys = append(keys, k)
		}
		return nil
	})
	for _, k := range keys {
		if err != nil {
			break
		}
		var r *keyRow
		if r, err = t.key(k); err != nil {
			break
		}
		if r.seq <= partRows {
			err = t.unsay(r)
			continue
		}
		var id int64
		id, err = t.hide(r)
		hidden = append(hidden, id)
	}
	return hidden, err
}

// expired lists the conversations that were last updated before, oldest first,
// without those that have something to do.
func (t *tx) expired(before time.Time, limit int) (keys []channels.Key, err error) {
	if limit <= 0 {
		return nil, nil
	}
	rows, err := t.rows(`SELECT k.key FROM conversations c JOIN keys k ON k.id = c.key_id WHERE c.updated < ? ORDER BY c.updated`, nanos(before))
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var name string
		var k channels.Key
		if err := rows.Scan(&name); err != nil {
			return err
		}
		if err := parseKey(&k, name); err != nil {
			return err
		}
		if t.idle(k) {
			keys = append(keys, k)
		}
		if len(keys) == limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return keys, err
}

// idle reports whether k has nothing to do, the batch so far included.
func (t *tx) idle(k channels.Key) bool {
	for _, it := range t.items {
		if it.Key == k && !it.Gone {
			return false
		}
	}
	return !t.store.work.Busy(k)
}
