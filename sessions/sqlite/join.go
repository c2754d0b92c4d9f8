package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// Join is part of [sessions.Lifetime]. It refuses conversations of two
// channels: what one network knows by an id the other does not.
func (s *Store) Join(ctx context.Context, from, to channels.Key) error {
	if err := rules.CheckJoin(from, to); err != nil {
		return wrap("join", err)
	}
	if from == to {
		return nil
	}
	return s.updateAlone(ctx, "join", func(t *tx) error { return t.join(from, to) }, nil)
}

func (t *tx) join(from, to channels.Key) error {
	f, err := t.find(from)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	queued, err := t.queued(f)
	if err != nil || !queued && f.conv == nil {
		return err
	}
	if f, err = t.key(from); err != nil {
		return err
	}
	r, err := t.key(to)
	if err != nil {
		return err
	}
	t.fenced = append(t.fenced, from, to)
	for _, step := range []func() error{
		func() error { return t.openItems(f, true) },
		func() error { return t.openItems(r, true) },
		func() error { return t.joinQueues(f, r) },
		func() error { return t.joinTranscripts(f, r) },
		func() error { return t.openItems(r, false) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// queued reports whether r has rows in the queues, done ones included.
func (t *tx) queued(r *keyRow) (any bool, err error) {
	err = t.row(`SELECT EXISTS (SELECT 1 FROM inbox WHERE id BETWEEN ?1 AND ?2) OR EXISTS (SELECT 1 FROM outbox WHERE id BETWEEN ?1 AND ?2)`,
		rowID(r.id, 0), rowID(r.id, maxSeq)).Scan(&any)
	return any, err
}

// openItems tells the dispatcher what r has to do, or that it is gone.
func (t *tx) openItems(r *keyRow, gone bool) error {
	open, err := t.open(r)
	if err != nil {
		return err
	}
	for _, w := range open {
		it := t.item(r, w)
		it.Gone = gone
		t.items = append(t.items, it)
	}
	rows, err := t.rows(`SELECT id, due, created, uncertain FROM outbox WHERE id BETWEEN ? AND ? AND state <> 'sent' AND state IN ('queued', 'sending', 'unknown') ORDER BY id`,
		rowID(r.id, 0), rowID(r.id, maxSeq))
	if err != nil {
		return err
	}
	return each(rows, func() error {
		it := dispatch.Item{Key: r.key, Lane: dispatch.Delivery, Gone: gone}
		var due, since int64
		err := rows.Scan(&it.Row, &due, &since, &it.Uncertain)
		it.Seq, it.Due, it.Since = seqOf(it.Row), timeOf(due), timeOf(since)
		t.items = append(t.items, it)
		return err
	})
}

// shift moves the rows of a key, by their ids, in the table and column named
// by the query.
func (t *tx) shift(r *keyRow, by int64, queries ...string) error {
	for _, query := range queries {
		if err := t.exec(query, by, rowID(r.id, 1), rowID(r.id, maxSeq)); err != nil {
			return err
		}
	}
	return nil
}

// joinQueues puts the queues of f before those of r. All seqs are new, above
// every one that was handed out, so that nobody who remembers one hits another
// row with it. Deliveries keep their ids.
func (t *tx) joinQueues(f, r *keyRow) error {
	base := max(f.seq, r.seq)
	if base+f.seq+r.seq >= maxSeq {
		return errors.New("the queues are too long")
	}
	for _, k := range []*keyRow{f, r} {
		err := t.exec(`UPDATE outbox SET did = ? || '-' || (id >> 32) || '-' || (id & 4294967295) WHERE did = '' AND id BETWEEN ? AND ?`,
			t.store.prefix, rowID(k.id, 0), rowID(k.id, maxSeq))
		if err != nil {
			return err
		}
	}
	// Two turns of one name cannot share a journal: that of r begins anew.
	for _, query := range []string{
		`DELETE FROM steps WHERE key_id = ?2 AND turn IN (SELECT turn FROM steps WHERE key_id = ?1)`,
		`UPDATE inbox SET turn = '' WHERE id BETWEEN ?2 << 32 AND ?2 << 32 | 4294967295 AND turn <> '' AND turn IN (SELECT turn FROM steps WHERE key_id = ?1)`,
		`UPDATE steps SET key_id = ?2 WHERE key_id = ?1`,
	} {
		if err := t.exec(query, f.id, r.id); err != nil {
			return err
		}
	}
	queues := []string{
		`UPDATE inbox SET id = id + ? WHERE id BETWEEN ? AND ?`,
		`UPDATE outbox SET id = id + ? WHERE id BETWEEN ? AND ?`,
		`UPDATE occurrences SET inbox_id = inbox_id + ? WHERE inbox_id <> 0 AND inbox_id BETWEEN ? AND ?`,
	}
	if err := t.shift(r, base+f.seq, queues...); err != nil {
		return err
	}
	if err := t.shift(f, (r.id-f.id)<<32+base, queues...); err != nil {
		return err
	}
	r.seq += base + f.seq
	t.touch(r, false)
	return nil
}

// joinTranscripts puts what was said under f before what was said under r. The
// new seqs are above all that were handed out: a summary that is being made of
// either is refused when it comes.
func (t *tx) joinTranscripts(f, r *keyRow) error {
	if f.conv == nil {
		return nil
	}
	a, b := f.conv, r.conv
	if b == nil {
		b = &convRow{created: a.created}
	}
	base := max(f.msgSeq, r.msgSeq)
	down, up := base-(f.msgSeq-a.messages), base+a.messages-(r.msgSeq-b.messages)
	joined := &convRow{
		generation: cmp.Or(b.generation, a.generation), from: base, title: cmp.Or(b.title, a.title),
		created: min(a.created, b.created), updated: latest(a.updated, b.updated), messages: a.messages + b.messages, usage: a.usage,
	}
	joined.usage.Add(b.usage)
	var before, after sessions.Settings
	if err := errors.Join(decodeSettings(a.settings, &before), decodeSettings(b.settings, &after)); err != nil {
		return err
	}
	joined.settings = encodeSettings(rules.JoinSettings(before, after))
	if b.covers == 0 && a.covers > 0 {
		joined.covers = a.covers + down
	}
	if err := t.moveMessages(f, r, down, up); err != nil {
		return err
	}
	if err := t.moveSummaries(f, r, joined, down); err != nil {
		return err
	}
	if err := t.oneGeneration(f, r, joined); err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM conversations WHERE key_id IN (?, ?)`, f.id, r.id); err != nil {
		return err
	}
	f.conv, r.conv, r.msgSeq = nil, joined, base+joined.messages
	t.touch(r, true)
	return t.say(r, base)
}

func (t *tx) moveMessages(f, r *keyRow, down, up int64) error {
	for _, k := range []*keyRow{f, r} {
		if err := t.exec(`DELETE FROM words WHERE rowid BETWEEN ? AND ?`, rowID(k.id, 0), rowID(k.id, maxSeq)); err != nil {
			return err
		}
	}
	const messages = `UPDATE messages SET id = id + ? WHERE id BETWEEN ? AND ?`
	if err := t.shift(r, up, messages); err != nil {
		return err
	}
	return t.shift(f, (r.id-f.id)<<32+down, messages)
}

// moveSummaries takes over those of f's last generation if joined has a
// summary, and drops all others.
func (t *tx) moveSummaries(f, r *keyRow, joined *convRow, down int64) error {
	if err := t.exec(`DELETE FROM summaries WHERE id BETWEEN ? AND ?`, rowID(r.id, 0), rowID(r.id, maxSeq)); err != nil {
		return err
	}
	if joined.covers > 0 {
		err := t.exec(`UPDATE summaries SET id = id + ?, generation = ? WHERE id BETWEEN ? AND ? AND generation = ?`,
			(r.id-f.id)<<32+down, joined.generation, rowID(f.id, 0), rowID(f.id, maxSeq), f.conv.generation)
		if err != nil {
			return err
		}
	}
	return t.exec(`DELETE FROM summaries WHERE id BETWEEN ? AND ?`, rowID(f.id, 0), rowID(f.id, maxSeq))
}

// oneGeneration leaves the one generation of joined to f and r.
func (t *tx) oneGeneration(f, r *keyRow, joined *convRow) error {
	if joined.generation == "" {
		return nil
	}
	day, number, err := rules.ParseGeneration(joined.generation)
	if err != nil {
		return damaged("a generation is called %q", joined.generation)
	}
	var began int64
	if err := t.row(`SELECT coalesce(min(began), 0) FROM generations WHERE key_id IN (?, ?)`, f.id, r.id).Scan(&began); err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM generations WHERE key_id IN (?, ?)`, f.id, r.id); err != nil {
		return err
	}
	return t.exec(`INSERT INTO generations (key_id, day, number, from_seq, began) VALUES (?, ?, ?, ?, ?)`, r.id, day, number, joined.from, began)
}

// say puts the messages of r after a seq into the search index. It reads them
// in pages: a message can be long.
func (t *tx) say(r *keyRow, after int64) error {
	for id := rowID(r.id, after); ; {
		rows, err := t.rows(`SELECT id, role, rest, content FROM messages WHERE id > ? AND id <= ? ORDER BY id LIMIT 100`, id, rowID(r.id, maxSeq))
		if err != nil {
			return err
		}
		var page []wordsRow
		scan := newRowScan(rows)
		err = each(rows, func() error {
			m, err := scan.message()
			id = scan.id
			page = append(page, wordsRow{id, searchable(m)})
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, w := range page {
			if w.words == "" {
				continue
			}
			if err := t.exec(`INSERT INTO words (rowid, said) VALUES (?, ?)`, w.id, w.words); err != nil {
				return err
			}
		}
	}
}
