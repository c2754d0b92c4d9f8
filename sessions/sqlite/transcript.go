package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// messageRow is a message made ready for its table before the writer takes it.
type messageRow struct {
	role    sessions.Role
	content string
	words   string // for search
	bytes   int
	rest    []byte
	usage   sessions.Usage
}

func messageRows(messages []sessions.Message, turn string, now time.Time) []messageRow {
	var rows []messageRow
	for _, m := range messages {
		m = rules.Message(m, now)
		row := messageRow{
			role: m.Role, content: m.Content, bytes: rules.Bytes(m),
			words: searchable(m.Content),
			rest: encode(messageRest{
				m.Name, m.Sender, m.ToolCalls, m.ToolCallID, m.At, cmp.Or(m.Turn, turn), m.Model, m.Usage, m.Synthetic,
				m.Summary, m.Attachments, m.Extra,
			}),
		}
		if m.Usage != nil {
			row.usage = *m.Usage
		}
		rows = append(rows, row)
	}
	return rows
}

// searchable is content as the search index takes it.
func searchable(content string) string {
	return strings.Join(rules.Words(rules.Searchable(content)), " ")
}

// appendMessages adds to the transcript of r, beginning it if there is none.
// Without messages it touches nothing.
func (t *tx) appendMessages(r *keyRow, messages []messageRow) error {
	if len(messages) == 0 {
		return nil
	}
	if r.conv == nil {
		r.conv = &convRow{created: nanos(t.now)}
	}
	if r.conv.generation == "" {
		if err := t.beginGeneration(r); err != nil {
			return err
		}
	}
	t.touch(r, true)
	for _, m := range messages {
		r.msgSeq++
		id := rowID(r.id, r.msgSeq)
		err := t.exec(`INSERT INTO messages (id, role, bytes, rest, content) VALUES (?, ?, ?, ?, ?)`, id, string(m.role), m.bytes, m.rest, m.content)
		if err != nil {
			return err
		}
		if m.words != "" {
			t.words = append(t.words, wordsRow{id, m.words})
		}
		r.conv.messages++
		r.conv.usage.Add(m.usage)
	}
	r.conv.updated = nanos(t.now)
	return nil
}

// beginGeneration gives r's conversation a new id that no other ever had.
func (t *tx) beginGeneration(r *keyRow) error {
	day := rules.Day(t.now)
	var n int64
	err := t.row(`INSERT INTO days (day, begun) VALUES (?, 1) ON CONFLICT (day) DO UPDATE SET begun = begun + 1 RETURNING begun`, day).Scan(&n)
	if err != nil {
		return err
	}
	err = t.exec(`INSERT INTO generations (key_id, day, number, from_seq, began) VALUES (?, ?, ?, ?, ?)`, r.id, day, n, r.msgSeq, nanos(t.now))
	if err != nil {
		return err
	}
	t.touch(r, true)
	r.conv.generation, r.conv.from, r.conv.covers = rules.Generation(day, n), r.msgSeq, 0
	r.conv.updated = nanos(t.now)
	return nil
}

// newGeneration begins a generation in a conversation that exists; where
// nothing was said yet the first message begins one.
func (t *tx) newGeneration(r *keyRow) error {
	if r.conv == nil || r.conv.generation == "" {
		return nil
	}
	return t.beginGeneration(r)
}

// keyID finds the id of k. Errors: sql.ErrNoRows.
func (s *Store) keyID(ctx context.Context, k channels.Key) (id int64, err error) {
	err = s.row(ctx, `SELECT id FROM keys WHERE key = ?`, k.String()).Scan(&id)
	return id, err
}

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

// errEnough ends a loop over rows early.
var errEnough = errors.New("enough")

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
	m.Summary, m.Attachments, m.Extra = r.Summary, r.Attachments, r.Extra
	return s.m, nil
}

// AddSummary is part of [sessions.Transcript].
func (s *Store) AddSummary(ctx context.Context, k channels.Key, sum sessions.Summary) error {
	return s.update(ctx, "add summary", func(t *tx) error {
		r, err := t.conversation(k)
		if errors.Is(err, sessions.ErrNotFound) || err == nil && r.conv.generation != sum.Generation {
			return fmt.Errorf("%w: generation %q is not the current one", sessions.ErrConflict, sum.Generation)
		}
		if err != nil {
			return err
		}
		if after := max(r.conv.from, r.conv.covers); sum.CoversSeq <= after || sum.CoversSeq > r.msgSeq {
			return fmt.Errorf("%w: the summary covers up to %d, possible are %d to %d", sessions.ErrConflict, sum.CoversSeq, after+1, r.msgSeq)
		}
		at := sum.At
		if at.IsZero() {
			at = t.now
		}
		t.touch(r, true)
		r.conv.covers = sum.CoversSeq
		return t.exec(`INSERT INTO summaries (id, generation, model, at, text, fields) VALUES (?, ?, ?, ?, ?, ?)`,
			rowID(r.id, sum.CoversSeq), sum.Generation, rules.Text(sum.Model), nanos(at), rules.Text(sum.Text), string(rules.JSON(sum.Fields)))
	})
}

// List is part of [sessions.Archive].
func (s *Store) List(ctx context.Context, offset, limit int) ([]sessions.Conversation, error) {
	list, err := s.list(ctx, max(offset, 0), max(limit, 0))
	if err != nil {
		return nil, wrap("list", err)
	}
	return list, nil
}

func (s *Store) list(ctx context.Context, offset, limit int) ([]sessions.Conversation, error) {
	rows, err := s.rows(ctx, `SELECT `+convColumns+` FROM conversations c JOIN keys k ON k.id = c.key_id ORDER BY c.updated DESC LIMIT ? OFFSET ?`, limit, offset)
	if err != nil {
		return nil, err
	}
	return conversations(rows)
}

// Messages is part of [sessions.Archive].
func (s *Store) Messages(ctx context.Context, k channels.Key, after int64, limit int) ([]sessions.Message, error) {
	var list []sessions.Message
	key, err := s.keyID(ctx, k)
	if err == nil {
		list, err = s.messages(ctx, key, max(after, 0)+1, maxSeq, limit)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, wrap("messages", err)
	}
	return list, nil
}

// maxSeq is above every seq that a key can reach.
const maxSeq = 1<<32 - 1

// Search is part of [sessions.Archive]. Messages with all words come first,
// then those with most of them, the newer before the older.
func (s *Store) Search(ctx context.Context, k channels.Key, query string, limit int) ([]sessions.Message, error) {
	list, err := s.search(ctx, k, rules.Query(query), limit)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, wrap("search", err)
	}
	return list, nil
}

// searchMost bounds how many of the newest messages with some of the words
// are compared.
const searchMost = 200

func (s *Store) search(ctx context.Context, k channels.Key, words []string, limit int) ([]sessions.Message, error) {
	if len(words) == 0 || limit <= 0 {
		return nil, nil
	}
	key, err := s.keyID(ctx, k)
	if err != nil {
		return nil, err
	}
	found, err := s.match(ctx, words, rowID(key, 0), rowID(key, maxSeq), limit, limit)
	if err != nil {
		return nil, err
	}
	inOrder := make([]sessions.Message, 0, len(found))
	for _, m := range found {
		inOrder = append(inOrder, m)
	}
	slices.SortFunc(inOrder, func(a, b sessions.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return rules.Best(words, inOrder, func(m sessions.Message) string { return m.Content }, limit), nil
}

// match finds the newest messages between two ids that hold all of the words,
// at most so many, and if those are fewer than limit, those with some of them.
func (s *Store) match(ctx context.Context, words []string, from, to int64, most, limit int) (map[int64]sessions.Message, error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"` // a word holds no quotes: it is letters, digits and marks
	}
	found := map[int64]sessions.Message{}
	for _, try := range []struct {
		operator string
		most     int
	}{{" AND ", most}, {" OR ", max(limit, searchMost)}} {
		if len(found) >= limit || try.operator == " OR " && len(words) == 1 {
			break
		}
		rows, err := s.rows(ctx, `SELECT m.id, m.role, m.rest, m.content FROM words w JOIN messages m ON m.id = w.rowid
			WHERE w.said MATCH ? AND w.rowid BETWEEN ? AND ? ORDER BY w.rowid DESC LIMIT ?`,
			strings.Join(quoted, try.operator), from, to, try.most)
		if err != nil {
			return nil, err
		}
		scan := newMessageScan(rows)
		err = each(rows, func() error {
			m, err := scan.next()
			found[scan.id] = m
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Rename is part of [sessions.Archive].
func (s *Store) Rename(ctx context.Context, k channels.Key, title string) error {
	return s.update(ctx, "rename", func(t *tx) error {
		r, err := t.conversation(k)
		if err != nil {
			return err
		}
		t.touch(r, true)
		r.conv.title = rules.Text(title)
		return nil
	})
}

// Delete is part of [sessions.Archive].
func (s *Store) Delete(ctx context.Context, k channels.Key) error {
	return s.update(ctx, "delete", func(t *tx) error {
		r, err := t.conversation(k)
		if err != nil {
			return err
		}
		return t.deleteConversation(r)
	})
}

// deleteConversation removes the transcript of r, its summaries, generations
// and settings. The seqs and the count of the day's generations go on.
func (t *tx) deleteConversation(r *keyRow) error {
	from, to := rowID(r.id, 0), rowID(r.id, r.msgSeq)
	t.unsaid = append(t.unsaid, [2]int64{from, to})
	for _, query := range []string{
		`DELETE FROM messages WHERE id BETWEEN ? AND ?`,
		`DELETE FROM summaries WHERE id BETWEEN ? AND ?`,
	} {
		if err := t.exec(query, from, to); err != nil {
			return err
		}
	}
	r.conv = nil
	if err := t.exec(`DELETE FROM generations WHERE key_id = ?`, r.id); err != nil {
		return err
	}
	return t.exec(`DELETE FROM conversations WHERE key_id = ?`, r.id)
}
