package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

const personColumns = `channel, person, name, code, expires, approved`

func scanPerson(row scanner) (p sessions.Pairing, err error) {
	var expires, approved int64
	err = row.Scan(&p.Channel, &p.PersonID, &p.Name, &p.Code, &expires, &approved)
	p.Expires, p.Approved = timeOf(expires), timeOf(approved)
	return p, err
}

// forgetExpired drops requests that nobody can approve any more.
func (t *tx) forgetExpired(now time.Time) error {
	return t.exec(`DELETE FROM people WHERE approved = 0 AND expires <= ?`, nanos(now))
}

// RequestPairing is part of [sessions.People].
func (s *Store) RequestPairing(ctx context.Context, p sessions.Pairing, now time.Time, maxPending int) (got sessions.Pairing, created bool, err error) {
	if err := rules.CheckPairing(p, now); err != nil {
		return sessions.Pairing{}, false, wrap("request pairing", err)
	}
	p = rules.Pairing(p)
	err = s.update(ctx, "request pairing", func(t *tx) error {
		got, created = sessions.Pairing{}, false
		if err := t.forgetExpired(now); err != nil {
			return err
		}
		old, err := scanPerson(t.row(`SELECT `+personColumns+` FROM people WHERE channel = ? AND person = ?`, p.Channel, p.PersonID))
		if err == nil {
			got = old
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var same, pending int
		err = t.row(`SELECT (SELECT count(*) FROM people WHERE compare = ?1 AND compare <> ''), (SELECT count(*) FROM people WHERE channel = ?2 AND approved = 0)`,
			rules.Code(p.Code), p.Channel).Scan(&same, &pending)
		switch {
		case err != nil:
			return err
		case same > 0:
			return fmt.Errorf("%w: the code is another's", sessions.ErrConflict)
		case pending >= maxPending:
			return fmt.Errorf("%w: %d requests wait on %s", sessions.ErrTooMany, pending, p.Channel)
		}
		got, created = p, true
		return t.exec(`INSERT INTO people (channel, person, name, code, compare, expires) VALUES (?, ?, ?, ?, ?, ?)`,
			p.Channel, p.PersonID, p.Name, p.Code, rules.Code(p.Code), nanos(p.Expires))
	})
	if err != nil {
		return sessions.Pairing{}, false, err
	}
	return got, created, nil
}

// ApprovePairing is part of [sessions.People].
func (s *Store) ApprovePairing(ctx context.Context, code string, now time.Time) (got sessions.Pairing, err error) {
	err = s.update(ctx, "approve pairing", func(t *tx) error {
		got, err = scanPerson(t.row(`UPDATE people SET approved = ?1, code = '', compare = '', expires = 0
			WHERE compare = ?2 AND compare <> '' AND approved = 0 AND expires > ?1 RETURNING `+personColumns, nanos(now), rules.Code(code)))
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: pairing code", sessions.ErrNotFound)
		}
		return err
	})
	if err != nil {
		return sessions.Pairing{}, err
	}
	return got, nil
}

// Paired is part of [sessions.People].
func (s *Store) Paired(ctx context.Context, channel string, ids []string) (bool, error) {
	for _, id := range ids {
		var n int
		err := s.row(ctx, `SELECT 1 FROM people WHERE channel = ? AND person = ? AND approved <> 0`, channel, id).Scan(&n)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return false, wrap("paired", err)
		}
	}
	return false, nil
}

// Pairings is part of [sessions.People].
func (s *Store) Pairings(ctx context.Context, now time.Time) ([]sessions.Pairing, error) {
	rows, err := s.rows(ctx, `SELECT `+personColumns+` FROM people WHERE approved <> 0 OR expires > ? ORDER BY channel, person`, nanos(now))
	if err != nil {
		return nil, wrap("pairings", err)
	}
	var list []sessions.Pairing
	err = each(rows, func() error {
		p, err := scanPerson(rows)
		list = append(list, p)
		return err
	})
	if err != nil {
		return nil, wrap("pairings", err)
	}
	return list, nil
}

// Unpair is part of [sessions.People].
func (s *Store) Unpair(ctx context.Context, channel, personID string) error {
	return s.update(ctx, "unpair", func(t *tx) error {
		n, err := t.changed(`DELETE FROM people WHERE channel = ? AND person = ? AND approved <> 0`, channel, personID)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: %s is not paired on %s", sessions.ErrNotFound, personID, channel)
		}
		return err
	})
}

// Remember is part of [sessions.Facts]. A fact that the scope has already, to
// the letter, is not stored twice: a tool call that a crash repeats must not
// double it.
func (s *Store) Remember(ctx context.Context, scope, text string) (f sessions.Fact, err error) {
	text = rules.Text(text)
	err = s.update(ctx, "remember", func(t *tx) error {
		var at int64
		err := t.row(`SELECT id, at FROM facts WHERE scope = ? AND text = ?`, scope, text).Scan(&f.ID, &at)
		if errors.Is(err, sql.ErrNoRows) {
			at = nanos(t.now)
			err = t.row(`INSERT INTO facts (scope, at, text) VALUES (?, ?, ?) RETURNING id`, scope, at, text).Scan(&f.ID)
		}
		f.Text, f.At = text, timeOf(at)
		return err
	})
	if err != nil {
		return sessions.Fact{}, err
	}
	return f, nil
}

// Recall is part of [sessions.Facts].
func (s *Store) Recall(ctx context.Context, scope, query string, limit int) ([]sessions.Fact, error) {
	rows, err := s.rows(ctx, `SELECT id, at, text FROM facts WHERE scope = ? ORDER BY id`, scope)
	if err != nil {
		return nil, wrap("recall", err)
	}
	var facts []sessions.Fact
	err = each(rows, func() error {
		var f sessions.Fact
		var at int64
		err := rows.Scan(&f.ID, &at, &f.Text)
		f.At = timeOf(at)
		facts = append(facts, f)
		return err
	})
	if err != nil {
		return nil, wrap("recall", err)
	}
	return rules.Recall(query, facts, limit), nil
}

// Forget is part of [sessions.Facts].
func (s *Store) Forget(ctx context.Context, scope string, id int64) error {
	return s.update(ctx, "forget", func(t *tx) error {
		n, err := t.changed(`DELETE FROM facts WHERE scope = ? AND id = ?`, scope, id)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: fact %d", sessions.ErrNotFound, id)
		}
		return err
	})
}
