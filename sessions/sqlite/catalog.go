package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// convColumns are what lists show of a conversation c with its key k.
const convColumns = `k.key, c.generation, c.title, c.created, c.updated, c.messages, c.input, c.output, c.cached, c.cost, c.settings`

func scanConversation(row scanner) (c sessions.Conversation, err error) {
	var key, settings string
	var created, updated int64
	err = row.Scan(&key, &c.Generation, &c.Title, &created, &updated, &c.Messages,
		&c.Usage.Input, &c.Usage.Output, &c.Usage.Cached, &c.Usage.Cost, &settings)
	if err != nil {
		return c, err
	}
	c.Created, c.Updated = timeOf(created), timeOf(updated)
	if err := decodeSettings(settings, &c.Settings); err != nil {
		return c, err
	}
	return c, parseKey(&c.Key, key)
}

func conversations(rows *sql.Rows) (list []sessions.Conversation, err error) {
	err = each(rows, func() error {
		c, err := scanConversation(rows)
		list = append(list, c)
		return err
	})
	return list, err
}

// decodeSettings reads a settings column. Most are empty.
func decodeSettings(column string, s *sessions.Settings) error {
	if column == "" {
		return nil
	}
	return decode([]byte(column), s)
}

func encodeSettings(s sessions.Settings) string {
	if rules.IsZeroSettings(s) {
		return ""
	}
	return string(encode(s))
}

// Find is part of [sessions.Catalog]. It walks from the newest conversation, or
// the place that it is to go on behind, until the page is full.
func (s *Store) Find(ctx context.Context, q sessions.Query) ([]sessions.Conversation, error) {
	list, err := s.find(ctx, q)
	if err != nil {
		return nil, wrap("find", err)
	}
	return list, nil
}

// findQuery goes by the index of the times and sorts only those of one
// nanosecond, by their keys: hardly ever more than one.
const findQuery = `SELECT ` + convColumns + ` FROM conversations c JOIN keys k ON k.id = c.key_id
	WHERE c.updated BETWEEN ? AND ? AND (c.updated < ? OR k.key > ?)
	ORDER BY c.updated DESC, k.key LIMIT +?`

func (s *Store) find(ctx context.Context, q sessions.Query) (list []sessions.Conversation, err error) {
	from, to, after, key := int64(math.MinInt64), int64(math.MaxInt64), int64(math.MaxInt64), ""
	if !q.UpdatedAfter.IsZero() {
		from = nanos(q.UpdatedAfter)
	}
	if !q.UpdatedBefore.IsZero() {
		to = nanos(q.UpdatedBefore)
	}
	if q.After != nil {
		after, key = nanos(q.After.Updated), q.After.Key.String()
	}
	limit, most := rules.Page(q), -1
	if rules.MatchesAll(q) {
		most = limit // SQLite need not look further
	}
	rows, err := s.rows(ctx, findQuery, from, min(to, after), after, key, most)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		c, err := scanConversation(rows)
		if err != nil {
			return err
		}
		if rules.Matches(q, c) {
			list = append(list, c)
		}
		if len(list) == limit {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return list, nil
}

// notFound turns a missing row into the error of a conversation.
func notFound(err error, k channels.Key) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: conversation %s", sessions.ErrNotFound, k)
	}
	return err
}

// Conversation is part of [sessions.Catalog].
func (s *Store) Conversation(ctx context.Context, k channels.Key) (sessions.Conversation, error) {
	c, err := scanConversation(s.row(ctx, `SELECT `+convColumns+` FROM conversations c JOIN keys k ON k.id = c.key_id WHERE k.key = ?`, k.String()))
	if err != nil {
		return sessions.Conversation{}, wrap("conversation", notFound(err, k))
	}
	return c, nil
}

// Configure is part of [sessions.Catalog]. change runs on the writer's
// goroutine.
func (s *Store) Configure(ctx context.Context, k channels.Key, change func(*sessions.Settings)) error {
	if k.IsZero() {
		return wrap("configure", errors.New("no key"))
	}
	return s.update(ctx, "configure", func(t *tx) error {
		r, err := t.key(k)
		if err != nil {
			return err
		}
		var set sessions.Settings
		if r.conv != nil {
			if err := decodeSettings(r.conv.settings, &set); err != nil {
				return err
			}
		}
		change(&set)
		if err := rules.CheckSettings(set); err != nil {
			return err
		}
		t.touch(r, true)
		if r.conv == nil {
			r.conv = &convRow{from: r.msgSeq, created: nanos(t.now), updated: nanos(t.now)}
		}
		r.conv.settings = encodeSettings(rules.Settings(set))
		return nil
	})
}

// Generations is part of [sessions.Catalog].
func (s *Store) Generations(ctx context.Context, k channels.Key) ([]sessions.Generation, error) {
	list, err := s.generations(ctx, k)
	if err != nil {
		return nil, wrap("generations", notFound(err, k))
	}
	return list, nil
}

func (s *Store) generations(ctx context.Context, k channels.Key) (list []sessions.Generation, err error) {
	var key, last int64
	err = s.row(ctx, `SELECT k.id, k.msg_seq FROM keys k JOIN conversations c ON c.key_id = k.id WHERE k.key = ?`, k.String()).Scan(&key, &last)
	if err != nil {
		return nil, err
	}
	rows, err := s.rows(ctx, generationsQuery, key)
	if err != nil {
		return nil, err
	}
	return scanGenerations(rows, last)
}

const generationsQuery = `SELECT day, number, from_seq, began FROM generations WHERE key_id = ? ORDER BY id`

// scanGenerations reads those of one key, whose newest ends with last.
func scanGenerations(rows *sql.Rows, last int64) (list []sessions.Generation, err error) {
	err = each(rows, func() error {
		var day string
		var number, from, began int64
		if err := rows.Scan(&day, &number, &from, &began); err != nil {
			return err
		}
		if n := len(list); n > 0 {
			list[n-1].LastSeq = from
		}
		list = append(list, sessions.Generation{ID: rules.Generation(day, number), FirstSeq: from + 1, LastSeq: last, Began: timeOf(began)})
		return nil
	})
	return list, err
}

// Days is part of [sessions.Catalog]. It reads every message, but not what
// they say: nothing is counted while people talk, for the sake of a table that
// an operator looks at now and then.
func (s *Store) Days(ctx context.Context, from, to time.Time) ([]sessions.DayCount, error) {
	days := rules.NewDays[int64](from, to)
	rows, err := s.rows(ctx, `SELECT id, rest FROM messages WHERE id >> 32 NOT IN (SELECT key_id FROM sweeps)`)
	if err != nil {
		return nil, wrap("days", err)
	}
	var id int64
	var raw string
	var rest messageRest
	err = each(rows, func() error {
		if err := rows.Scan(&id, &raw); err != nil {
			return err
		}
		rest = messageRest{}
		if err := decodeRest(raw, &rest); err != nil {
			return err
		}
		days.Add(id>>32, rest.At, rest.Usage)
		return ctx.Err()
	})
	if err != nil {
		return nil, wrap("days", err)
	}
	return days.Counts(), nil
}

// Top is part of [sessions.Catalog].
func (s *Store) Top(ctx context.Context, limit int) ([]sessions.Conversation, error) {
	rows, err := s.rows(ctx, `SELECT `+convColumns+` FROM conversations c JOIN keys k ON k.id = c.key_id
		ORDER BY c.input + c.output DESC, k.key LIMIT +?`, max(limit, 0))
	if err != nil {
		return nil, wrap("top", err)
	}
	list, err := conversations(rows)
	if err != nil {
		return nil, wrap("top", err)
	}
	return slices.Clip(list), nil
}
