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

// headQuery reads a conversation and its newest summary at one moment: between
// two an erasure may have removed the summary.
const headQuery = `SELECT k.id, k.msg_seq, c.generation, c.from_seq, c.settings, coalesce(s.id & 4294967295, 0),
	coalesce(s.generation, ''), coalesce(s.model, ''), coalesce(s.at, 0), coalesce(s.text, ''), coalesce(s.fields, '')
	FROM keys k JOIN conversations c ON c.key_id = k.id LEFT JOIN summaries s ON c.covers > 0 AND s.id = k.id << 32 | c.covers WHERE k.key = ?`

func (s *Store) history(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (h sessions.History, err error) {
	var key, last, after, at int64
	var settings string
	var sum sessions.Summary
	changes := s.recent.now() // before anything is read
	err = s.row(ctx, headQuery, k.String()).Scan(&key, &last, &h.Generation, &after, &settings,
		&sum.CoversSeq, &sum.Generation, &sum.Model, &at, &sum.Text, (*[]byte)(&sum.Fields))
	if err == nil {
		err = decodeSettings(settings, &h.Settings)
	}
	if err != nil {
		return h, err
	}
	h.FirstSeq = after + 1
	if sum.CoversSeq > 0 {
		sum.At, sum.Fields = timeOf(at), rules.JSON(sum.Fields)
		h.Summary, after = &sum, sum.CoversSeq
	}
	h.Messages, err = s.newest(ctx, key, after, last, limit, changes)
	// The seq of a transcript has no gaps, so nothing has to be counted.
	h.Omitted = int(last-after) - len(h.Messages)
	return h, err
}

// newest takes the messages after one seq and up to another that fit into the
// limit, oldest first. What it knows of a turn before it does not read again.
func (s *Store) newest(ctx context.Context, key, after, last int64, limit sessions.HistoryLimit, changes uint64) ([]sessions.Message, error) {
	first := after + 1
	if limit.Messages > 0 {
		first = max(first, last-int64(limit.Messages)+1)
	}
	if first > last {
		return nil, nil
	}
	left := int64(math.MaxInt64)
	if limit.Bytes > 0 {
		left = int64(limit.Bytes)
	}
	known := s.recent.from(key, first, last)
	read, left, err := s.readNewest(ctx, key, first+int64(len(known)), last, left)
	if err != nil {
		return nil, err
	}
	from := len(known)
	for left >= 0 && from > 0 {
		if left -= known[from-1].bytes; left >= 0 {
			from--
		}
	}
	// With room for what a turn adds.
	list := make([]sessions.Message, 0, len(known)-from+len(read)+4)
	for _, rows := range [][]recentRow{known[from:], read} {
		for i := range rows {
			m, err := rows[i].message()
			if err != nil {
				return nil, err
			}
			list = append(list, m)
		}
	}
	if left >= 0 {
		s.recent.put(key, first, read, changes)
	}
	return list, nil
}

// readNewest reads messages from first to last that have no more than left
// bytes, oldest first, and returns what is left then: less than none if
// there was not enough. It goes backwards and stops where the limit ends, so
// that it costs what it returns.
func (s *Store) readNewest(ctx context.Context, key, first, last, left int64) ([]recentRow, int64, error) {
	if first > last {
		return nil, left, nil
	}
	rows, err := s.rows(ctx, `SELECT id, role, rest, content, bytes FROM messages WHERE id BETWEEN ? AND ? ORDER BY id DESC`, rowID(key, first), rowID(key, last))
	if err != nil {
		return nil, 0, err
	}
	// As large as it will be, unless the limit in bytes ends it much earlier.
	list := make([]recentRow, 0, min(last-first+1, 128))
	var bytes int64
	scan := newRowScan(rows, &bytes)
	err = each(rows, func() error {
		r, err := scan.next()
		if err != nil {
			return err
		}
		r.bytes = bytes
		if left -= bytes; left < 0 {
			return errEnough
		}
		list = append(list, r)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, 0, err
	}
	slices.Reverse(list)
	return list, left, nil
}

// messages reads the messages of a key from first to last, at most so many.
func (s *Store) messages(ctx context.Context, key, first, last int64, most int) ([]sessions.Message, error) {
	rows, err := s.rows(ctx, `SELECT id, role, rest, content FROM messages WHERE id BETWEEN ? AND ? ORDER BY id LIMIT +?`, rowID(key, first), rowID(key, last), max(most, 0))
	if err != nil {
		return nil, err
	}
	var list []sessions.Message
	scan := newRowScan(rows)
	err = each(rows, func() error {
		m, err := scan.message()
		list = append(list, m)
		return err
	})
	return list, err
}

// rowScan reads id, role, rest and content of rows, and what comes after them.
// What it needs for that serves all rows: histories are read in every turn, and
// with variables of its own for each row they were a sixth of all that the
// daemon allocated.
type rowScan struct {
	from scanner
	dest []any
	id   int64
	role sql.RawBytes
	row  recentRow
}

func newRowScan(from scanner, more ...any) *rowScan {
	s := &rowScan{from: from}
	s.dest = append([]any{&s.id, &s.role, &s.row.rest, &s.row.content}, more...)
	return s
}

func (s *rowScan) next() (recentRow, error) {
	if err := s.from.Scan(s.dest...); err != nil {
		return recentRow{}, err
	}
	s.row.seq, s.row.role = seqOf(s.id), roleOf(s.role)
	return s.row, nil
}

// message is the next row's.
func (s *rowScan) message() (sessions.Message, error) {
	row, err := s.next()
	if err != nil {
		return sessions.Message{}, err
	}
	return row.message()
}

// roleOf takes no memory for the roles there are.
func roleOf(b []byte) sessions.Role {
	for _, role := range [...]sessions.Role{sessions.RoleUser, sessions.RoleAssistant, sessions.RoleTool} {
		if string(b) == string(role) {
			return role
		}
	}
	return sessions.Role(b)
}

// message is the one that the row holds.
func (r *recentRow) message() (sessions.Message, error) {
	var rest messageRest
	if err := decodeRest(r.rest, &rest); err != nil {
		return sessions.Message{}, err
	}
	return sessions.Message{
		Seq: r.seq, Role: r.role, Content: r.content,
		Name: rest.Name, Sender: rest.Sender, ToolCalls: rest.ToolCalls, ToolCallID: rest.ToolCallID, At: rest.At,
		Turn: rest.Turn, Model: rest.Model, Usage: rest.Usage, Synthetic: rest.Synthetic,
		Summary: rest.Summary, Failed: rest.Failed, Attachments: rest.Attachments,
		Attached: rest.Attached, Extra: rest.Extra,
	}, nil
}
