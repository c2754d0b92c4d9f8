package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Dump is part of [sessions.Copies]. It reads within one transaction: what is
// written meanwhile waits in the log and is not seen.
func (s *Store) Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	if err := s.readable(ctx); err != nil {
		return wrap("dump", err)
	}
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return wrap("dump", err)
	}
	var told error // emit's, which is returned as it is
	d := &dumper{ctx: ctx, store: s, tx: tx, emit: func(r sessions.Record) error {
		told = emit(r)
		return told
	}}
	d.stmts.prepare = tx.PrepareContext
	err = d.all(keys)
	d.stmts.close()
	end := tx.Rollback()
	if told != nil {
		return told
	}
	if err = errors.Join(err, ctx.Err()); err == nil {
		err = end
	}
	if err != nil {
		return wrap("dump", err)
	}
	return nil
}

// dumper is one Dump.
type dumper struct {
	ctx   context.Context
	store *Store
	tx    *sql.Tx
	stmts statements // of tx
	emit  func(sessions.Record) error
}

// rows and row run a statement that is prepared once: there can be as many as
// there are conversations.
func (d *dumper) rows(query string, args ...any) (*sql.Rows, error) {
	stmt, err := d.stmts.get(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(d.ctx, args...)
}

func (d *dumper) row(query string, args ...any) scanner {
	stmt, err := d.stmts.get(query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(d.ctx, args...)
}

// each reads rows and hands the record that f makes of each to emit, if any.
func (d *dumper) each(query string, f func(scanner) (sessions.Record, error), args ...any) error {
	rows, err := d.rows(query, args...)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		r, err := f(rows)
		if err == nil && r != (sessions.Record{}) {
			err = d.emit(r)
		}
		return err
	})
}

func (d *dumper) all(keys []channels.Key) error {
	whole := len(keys) == 0
	if whole {
		if err := d.storeRecord(); err != nil {
			return err
		}
		var err error
		if keys, err = d.keys(); err != nil {
			return err
		}
	}
	for _, k := range rules.DumpKeys(keys) {
		if err := d.chat(k); err != nil {
			return err
		}
	}
	if whole {
		return d.others()
	}
	return nil
}

// keys lists all that there are.
func (d *dumper) keys() (keys []channels.Key, err error) {
	err = d.each(`SELECT key FROM keys`, func(row scanner) (sessions.Record, error) {
		var name string
		var k channels.Key
		if err := row.Scan(&name); err != nil {
			return sessions.Record{}, err
		}
		err := parseKey(&k, name)
		keys = append(keys, k)
		return sessions.Record{}, err
	})
	return keys, err
}

// chat hands out what belongs to k.
func (d *dumper) chat(k channels.Key) error {
	id, found, err := d.head(k)
	if err != nil || !found {
		return err
	}
	if err := d.messages(k, id); err != nil {
		return err
	}
	return d.queues(k, id)
}

// head hands out the record of k, if there is anything.
func (d *dumper) head(k channels.Key) (id int64, found bool, err error) {
	head := &sessions.ConversationRecord{Key: k}
	err = d.row(`SELECT id, seq, msg_seq FROM keys WHERE key = ?`, k.String()).Scan(&id, &head.Seq, &head.MessageSeq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	c, err := scanConversation(d.row(`SELECT `+convColumns+` FROM conversations c JOIN keys k ON k.id = c.key_id WHERE c.key_id = ?`, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if head.Seq == 0 && head.MessageSeq == 0 {
			return 0, false, nil
		}
	case err != nil:
		return 0, false, err
	default:
		head.Title, head.Created, head.Updated, head.Settings = c.Title, c.Created, c.Updated, c.Settings
		if err := d.generations(id, head, c.Generation); err != nil {
			return 0, false, err
		}
	}
	return id, true, d.emit(sessions.Record{Conversation: head})
}

// generations reads those of a key, and the summaries of the newest.
func (d *dumper) generations(id int64, head *sessions.ConversationRecord, newest string) error {
	rows, err := d.rows(generationsQuery, id)
	if err != nil {
		return err
	}
	if head.Generations, err = scanGenerations(rows, head.MessageSeq); err != nil {
		return err
	}
	return d.each(`SELECT id, model, at, text, fields FROM summaries WHERE id BETWEEN ? AND ? AND generation = ? ORDER BY id`,
		func(row scanner) (r sessions.Record, err error) {
			s := sessions.Summary{Generation: newest}
			var at int64
			err = row.Scan(&s.CoversSeq, &s.Model, &at, &s.Text, (*[]byte)(&s.Fields))
			s.CoversSeq, s.At, s.Fields = seqOf(s.CoversSeq), timeOf(at), rules.JSON(s.Fields)
			head.Summaries = append(head.Summaries, s)
			return r, err
		}, rowID(id, 0), rowID(id, maxSeq), newest)
}

func (d *dumper) messages(k channels.Key, id int64) error {
	rows, err := d.rows(`SELECT id, role, rest, content FROM messages WHERE id BETWEEN ? AND ? ORDER BY id`, rowID(id, 0), rowID(id, maxSeq))
	if err != nil {
		return err
	}
	var chunk rules.Chunk
	flush := func() error {
		if len(chunk.Messages) == 0 {
			return nil
		}
		r := sessions.Record{Messages: &sessions.MessagesRecord{Key: k, Messages: chunk.Messages}}
		chunk = rules.Chunk{}
		return d.emit(r)
	}
	scan := newRowScan(rows)
	err = each(rows, func() error {
		m, err := scan.message()
		if err == nil && chunk.Add(m) {
			err = flush()
		}
		return err
	})
	if err != nil {
		return err
	}
	return flush()
}

func (d *dumper) queues(k channels.Key, id int64) error {
	from, to := rowID(id, 0), rowID(id, maxSeq)
	var inbox []sessions.InboxRecord
	told := map[string]bool{}
	err := d.each(`SELECT `+inColumns+` FROM inbox WHERE id BETWEEN ? AND ? ORDER BY id`, func(row scanner) (r sessions.Record, err error) {
		w, err := scanIn(row, k)
		inbox = append(inbox, sessions.InboxRecord{
			Seq: w.seq, Rev: w.rev, Inbound: w.inbound, Origin: w.origin, State: w.state, Turn: w.turn,
			Attempts: w.attempts, Due: w.due, Accepted: w.accepted, Why: w.why,
		})
		return r, err
	}, from, to)
	if err != nil {
		return err
	}
	for _, rec := range inbox {
		if err := d.inbox(id, &rec, told); err != nil {
			return err
		}
	}
	return d.each(`SELECT message_id, `+outColumns+` FROM outbox WHERE id BETWEEN ? AND ? ORDER BY id`, func(row scanner) (r sessions.Record, err error) {
		rec := &sessions.OutboxRecord{}
		rec.Delivery, rec.Uncertain, err = d.store.scanOut(after{row, &rec.MessageID}, k)
		return sessions.Record{Outbox: rec}, err
	}, from, to)
}

// after scans its own first column before those that it is asked for.
type after struct {
	row   scanner
	first *string
}

func (a after) Scan(dest ...any) error { return a.row.Scan(append([]any{a.first}, dest...)...) }

// inbox adds what other tables know of a message.
func (d *dumper) inbox(id int64, rec *sessions.InboxRecord, told map[string]bool) error {
	err := d.each(`SELECT job, due FROM occurrences WHERE inbox_id = ? AND inbox_id <> 0`, func(row scanner) (r sessions.Record, err error) {
		var due int64
		err = row.Scan(&rec.Job, &due)
		rec.JobDue = timeOf(due)
		return r, err
	}, rowID(id, rec.Seq))
	if err == nil && rec.Turn != "" && !told[rec.Turn] {
		told[rec.Turn] = true
		err = d.each(`SELECT data FROM steps WHERE key_id = ? AND turn = ? ORDER BY id`, func(row scanner) (r sessions.Record, err error) {
			var data []byte
			if err := row.Scan(&data); err != nil {
				return r, err
			}
			rec.Steps = append(rec.Steps, sessions.Step{})
			return r, decode(data, &rec.Steps[len(rec.Steps)-1])
		}, id, rec.Turn)
	}
	if err != nil {
		return err
	}
	return d.emit(sessions.Record{Inbox: rec})
}
