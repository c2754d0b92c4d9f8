package sqlite

import (
	"context"
	"errors"
	"math"
	"time"

	"dragoman/channels"
	"dragoman/sessions/rules"
)

// Expire is part of [sessions.Lifetime].
func (s *Store) Expire(ctx context.Context, before time.Time, limit int) (gone []channels.Key, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.expire(ctx, func(t *tx) (hidden []int64, err error) {
		gone, hidden, err = t.expireOldest(before, limit)
		return hidden, err
	})
	if err != nil {
		return nil, err
	}
	var last int64 // key that was looked at
	for more := len(gone) < limit; more && err == nil; {
		err = s.expire(ctx, func(t *tx) (hidden []int64, err error) {
			hidden, last, more, err = t.expireRest(before, last, limit)
			return hidden, err
		})
	}
	return gone, err
}

// expire does one step of an Expire, in a commit of its own so that others
// write in between, and removes what it has hidden.
func (s *Store) expire(ctx context.Context, step func(*tx) (hidden []int64, err error)) error {
	var hidden []int64
	err := s.update(ctx, "expire", func(t *tx) (err error) {
		hidden, err = step(t)
		return err
	})
	if err == nil {
		s.sweep(ctx, hidden)
	}
	return err
}

// expireOldest deletes conversations. It returns what has to be swept.
func (t *tx) expireOldest(before time.Time, limit int) (gone []channels.Key, hidden []int64, err error) {
	if err := t.stampUndated(before); err != nil {
		return nil, nil, err
	}
	gone, err = t.expired(before, limit)
	for _, k := range gone {
		var id int64
		r, err := t.conversation(k)
		if err == nil {
			id, err = t.end(r)
		}
		if err != nil {
			return nil, nil, err
		}
		if id != 0 {
			hidden = append(hidden, id)
		}
	}
	return gone, hidden, err
}

// stampUndated counts conversations whose last update was noted by a clock that
// had not been set as updated now.
func (t *tx) stampUndated(before time.Time) error {
	if !rules.Undated(time.Time{}, before) {
		return nil
	}
	err := t.exec(`UPDATE conversations SET updated = ? WHERE updated < ?`, nanos(t.now), nanos(rules.Plausible))
	t.forget() // what it knows of conversations is older
	return err
}

// expireRest deletes what was last asked or answered before where there is no
// conversation: commands, what a job told, what was on its way when a
// conversation was deleted. It looks at limit keys with ids above after. It
// returns what has to be swept, the id of the last of those keys, and whether
// there may be more.
func (t *tx) expireRest(before time.Time, after int64, limit int) (hidden []int64, last int64, more bool, err error) {
	rows, err := t.rows(`SELECT id, key FROM keys k WHERE NOT EXISTS (SELECT 1 FROM conversations WHERE key_id = k.id)
		AND max(coalesce((SELECT max(accepted) FROM inbox WHERE id BETWEEN k.id << 32 AND k.id << 32 | 4294967295), 0),
			coalesce((SELECT max(created) FROM outbox WHERE id BETWEEN k.id << 32 AND k.id << 32 | 4294967295), 0)) BETWEEN 1 AND ?
		AND id > ? ORDER BY id LIMIT +?`, nanos(before)-1, after, limit)
	if err != nil {
		return nil, 0, false, err
	}
	var keys []channels.Key
	last = after
	err = each(rows, func() error {
		var name string
		if err := rows.Scan(&last, &name); err != nil {
			return err
		}
		keys = append(keys, channels.Key{})
		return parseKey(&keys[len(keys)-1], name)
	})
	for _, k := range keys {
		if err == nil && t.idle(k) {
			hidden, err = t.endRest(k, hidden)
		}
	}
	return hidden, last, len(keys) == limit, err
}

// endRest deletes what is done of k, which has no conversation, and adds to
// hidden what has to be swept.
func (t *tx) endRest(k channels.Key, hidden []int64) ([]int64, error) {
	r, err := t.key(k)
	if err != nil || r.seq <= partRows {
		if err == nil {
			err = t.unsay(r)
		}
		return hidden, err
	}
	id, err := t.hide(r)
	return append(hidden, id), err
}

// expired lists the conversations that were last updated before, from the end
// of the list, without those that have something to do.
func (t *tx) expired(before time.Time, limit int) (keys []channels.Key, err error) {
	oldest := int64(math.MinInt64)
	if rules.Undated(time.Time{}, before) {
		oldest = nanos(rules.Plausible)
	}
	rows, err := t.rows(`SELECT k.key FROM conversations c JOIN keys k ON k.id = c.key_id WHERE c.updated < ? AND c.updated >= ? ORDER BY c.updated, k.key DESC`,
		nanos(before), oldest)
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
