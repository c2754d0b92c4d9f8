package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// errEnough ends a loop over rows early.
var errEnough = errors.New("enough")

// History is part of [sessions.Transcript].
func (s *Store) History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error) {
	h, err := s.history(ctx, k, limit)
	if errors.Is(err, sql.ErrNoRows) {
		return sessions.History{}, nil
	}
	if err != nil {
		return sessions.History{}, wrap("history", err)
	}
	return h, nil
}

func (s *Store) history(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (h sessions.History, err error) {
	var key, last, after, covers int64
	var settings string
	err = s.row(ctx, `SELECT k.id, k.msg_seq, c.generation, c.from_seq, c.covers, c.settings FROM keys k JOIN conversations c ON c.key_id = k.id WHERE k.key = ?`, k.String()).
		Scan(&key, &last, &h.Generation, &after, &covers, &settings)
	if err == nil {
		err = decodeSettings(settings, &h.Settings)
	}
	if err != nil {
		return h, err
	}
	h.FirstSeq = after + 1
	if covers > 0 {
		sum := sessions.Summary{CoversSeq: covers}
		var at int64
		err := s.row(ctx, `SELECT generation, model, at, text, fields FROM summaries WHERE id = ?`, rowID(key, covers)).
			Scan(&sum.Generation, &sum.Model, &at, &sum.Text, (*[]byte)(&sum.Fields))
		if err != nil {
			return h, err
		}
		sum.At, sum.Fields = timeOf(at), rules.JSON(sum.Fields)
		h.Summary, after = &sum, covers
	}
	h.Messages, err = s.newest(ctx, key, after, last, limit)
	// The seq of a transcript has no gaps, so nothing has to be counted.
	h.Omitted = int(last-after) - len(h.Messages)
	return h, err
}

// newest reads the messages after one seq and up to another that fit into the
// limit, oldest first. It goes backwards and stops where the limit ends, so
// that it costs what it returns. It has no LIMIT: for each other number in one
// SQLite would prepare the statement again.
func (s *Store) newest(ctx context.Context, key, after, last int64, limit sessions.HistoryLimit) ([]sessions.Message, error) {
	first := after + 1
	if limit.Messages > 0 {
		first = max(first, last-int64(limit.Messages)+1)
	}
	if first > last {
		return nil, nil
	}
	rows, err := s.rows(ctx, `SELECT id, role, rest, content, bytes FROM messages WHERE id BETWEEN ? AND ? ORDER BY id DESC`, rowID(key, first), rowID(key, last))
	if err != nil {
		return nil, err
	}
	// As large as it will be, unless the limit in bytes ends it much earlier,
	// with room for what a turn adds.
	list := make([]sessions.Message, 0, min(last-first+1, 128)+4)
	left := int64(math.MaxInt64)
	if limit.Bytes > 0 {
		left = int64(limit.Bytes)
	}
	var bytes int64
	scan := newMessageScan(rows, &bytes)
	err = each(rows, func() error {
		m, err := scan.next()
		if err != nil {
			return err
		}
		if left -= bytes; left < 0 {
			return errEnough
		}
		list = append(list, m)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	slices.Reverse(list)
	return list, nil
}

// messages reads the messages of a key from first to last, at most so many.
func (s *Store) messages(ctx context.Context, key, first, last int64, most int) ([]sessions.Message, error) {
	rows, err := s.rows(ctx, `SELECT id, role, rest, content FROM messages WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?`, rowID(key, first), rowID(key, last), max(most, 0))
	if err != nil {
		return nil, err
	}
	var list []sessions.Message
	scan := newMessageScan(rows)
	err = each(rows, func() error {
		m, err := scan.next()
		list = append(list, m)
		return err
	})
	return list, err
}

// messageScan reads id, role, rest and content of rows, and what comes after
// them. What it needs for that serves all rows: histories are read in every
// turn, and with variables of its own for each row they were a sixth of all
// that the daemon allocated.
type messageScan struct {
	row  scanner
	dest []any
	id   int64
	raw  sql.RawBytes
	rest messageRest
	m    sessions.Message
}

func newMessageScan(row scanner, more ...any) *messageScan {
	s := &messageScan{row: row}
	s.dest = append([]any{&s.id, &s.m.Role, &s.raw, &s.m.Content}, more...)
	return s
}

func (s *messageScan) next() (sessions.Message, error) {
	s.m, s.rest = sessions.Message{}, messageRest{}
	if err := s.row.Scan(s.dest...); err != nil {
		return s.m, err
	}
	if err := decodeRest(s.raw, &s.rest); err != nil {
		return s.m, err
	}
	m, r := &s.m, &s.rest
	m.Seq = seqOf(s.id)
	m.Name, m.Sender, m.ToolCalls, m.ToolCallID, m.At = r.Name, r.Sender, r.ToolCalls, r.ToolCallID, r.At
	m.Turn, m.Model, m.Usage, m.Synthetic = r.Turn, r.Model, r.Usage, r.Synthetic
	m.Summary, m.Failed, m.Attachments, m.Extra = r.Summary, r.Failed, r.Attachments, r.Extra
	return s.m, nil
}
