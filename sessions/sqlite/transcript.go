package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
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
			words: searchable(m),
			rest: encode(messageRest{
				m.Name, m.Sender, m.ToolCalls, m.ToolCallID, m.At, cmp.Or(m.Turn, turn), m.Model, m.Usage, m.Synthetic,
				m.Summary, m.Failed, m.Attachments, m.Attached, m.Extra,
			}),
		}
		if m.Usage != nil {
			row.usage = *m.Usage
		}
		rows = append(rows, row)
	}
	return rows
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
	r.conv.updated = latest(r.conv.updated, nanos(t.now))
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
	r.conv.updated = latest(r.conv.updated, nanos(t.now))
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
		if !sum.Read.IsZero() && !sum.Read.After(t.rewritten[k]) {
			return fmt.Errorf("%w: messages were erased since the summary was begun", sessions.ErrConflict)
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

// Delete is part of [sessions.Archive]. With its first commit the conversation
// is gone for everybody; the rows of a large one go in more.
func (s *Store) Delete(ctx context.Context, k channels.Key) error {
	var hidden int64
	err := s.update(ctx, "delete", func(t *tx) error {
		r, err := t.find(k)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: conversation %s", sessions.ErrNotFound, k)
		}
		if err != nil {
			return err
		}
		hidden, err = t.end(r)
		return err
	})
	if err == nil && hidden != 0 {
		s.sweep(context.WithoutCancel(ctx), []int64{hidden})
	}
	return err
}

// unsay is Delete for r in one transaction.
func (t *tx) unsay(r *keyRow) error {
	done, err := t.forgetDone(r)
	if err == nil && !done && r.conv == nil {
		err = fmt.Errorf("%w: conversation %s", sessions.ErrNotFound, r.key)
	}
	if err != nil {
		return err
	}
	return t.deleteConversation(r)
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
