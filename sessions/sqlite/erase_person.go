package sqlite

import (
	"slices"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// people takes what they said out of the conversations of a channel.
func (x *eraser) people(channel string, ids []string) error {
	var all []string
	rows, err := x.rows(`SELECT key FROM keys WHERE key > ? AND key < ?`, channel+":", channel+";")
	if err != nil {
		return err
	}
	err = each(rows, func() error {
		var name string
		err := rows.Scan(&name)
		all = append(all, name)
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range all {
		r := &keyRow{}
		if err := parseKey(&r.key, name); err != nil {
			return err
		}
		if r, err = x.tx.key(r.key); err != nil {
			return err
		}
		before := x.got
		if err := x.queueOf(r, ids); err != nil {
			return err
		}
		if err := x.transcriptOf(r, ids); err != nil {
			return err
		}
		if x.got.Queued > before.Queued || x.got.Messages > before.Messages {
			if err := x.fieldsOf(r); err != nil {
				return err
			}
			if err := x.vanish(r); err != nil {
				return err
			}
		}
	}
	for _, id := range ids {
		n, err := x.changed(`DELETE FROM people WHERE channel = ? AND person = ?`, channel, id)
		if err != nil {
			return err
		}
		x.got.Pairings += int(n)
	}
	return nil
}

// vanish forgets r if nothing is left of it but its name.
func (x *eraser) vanish(r *keyRow) error {
	if c := r.conv; c != nil {
		var s sessions.Settings
		if err := decodeSettings(c.settings, &s); err != nil || !rules.Blank(int(c.messages), c.title, s) {
			return err
		}
	}
	var left bool
	err := x.row(`SELECT EXISTS (SELECT 1 FROM inbox WHERE id BETWEEN ?1 AND ?2) OR EXISTS (SELECT 1 FROM outbox WHERE id BETWEEN ?1 AND ?2)
		OR EXISTS (SELECT 1 FROM steps WHERE key_id = ?3)`, rowID(r.id, 0), rowID(r.id, maxSeq), r.id).Scan(&left)
	if err != nil || left {
		return err
	}
	return x.key(r)
}

// fieldsOf removes from the settings of r what others had put beside the
// messages: nobody can tell of whom it tells.
func (x *eraser) fieldsOf(r *keyRow) error {
	if r.conv == nil {
		return nil
	}
	var s sessions.Settings
	if err := decodeSettings(r.conv.settings, &s); err != nil {
		return err
	}
	if rules.DropForeign(&s) {
		r.conv.settings = encodeSettings(s)
		x.touch(r, true)
	}
	return nil
}

// queueOf removes what people sent from the inbox of r. If some of it waits,
// a turn may be at work on it: it is fenced, and the journals go too.
func (x *eraser) queueOf(r *keyRow, ids []string) error {
	mine, err := x.inbox(r, ids)
	if err != nil || len(mine) == 0 {
		return err
	}
	waiting := slices.ContainsFunc(mine, func(w inRow) bool { return w.state == rules.InWaiting })
	if waiting {
		x.fenced = append(x.fenced, r.key)
		if err := x.openItems(r, true); err != nil {
			return err
		}
		if err := x.exec(`DELETE FROM steps WHERE key_id = ?`, r.id); err != nil {
			return err
		}
		if err := x.exec(`UPDATE inbox SET turn = '' WHERE state = 'waiting' AND id BETWEEN ? AND ?`, rowID(r.id, 0), rowID(r.id, maxSeq)); err != nil {
			return err
		}
	}
	for _, w := range mine {
		if err := x.forgetIn(r, w); err != nil {
			return err
		}
	}
	if waiting {
		return x.openItems(r, false)
	}
	return nil
}

// transcriptOf replaces what people said in the transcript of r, and copies of
// it, and removes the summaries that may tell of it.
func (x *eraser) transcriptOf(r *keyRow, ids []string) error {
	if r.conv == nil {
		return nil
	}
	mine, copies, err := x.messages(r, ids)
	if err != nil || len(mine) == 0 {
		return err
	}
	x.got.Messages += len(mine)
	x.rewrote = append(x.rewrote, r.key)
	for _, m := range slices.Concat(mine, copies) {
		row, id := messageRows([]sessions.Message{m}, "", m.At)[0], rowID(r.id, m.Seq)
		if err := x.exec(`UPDATE messages SET bytes = ?, rest = ?, content = ? WHERE id = ?`, row.bytes, row.rest, row.content, id); err != nil {
			return err
		}
		if err := x.exec(`DELETE FROM words WHERE rowid = ?`, id); err != nil {
			return err
		}
		if err := x.exec(`INSERT INTO words (rowid, said) VALUES (?, ?)`, id, row.words); err != nil {
			return err
		}
		n, err := x.changed(`DELETE FROM summaries WHERE id BETWEEN ? AND ? AND coalesce((SELECT from_seq FROM generations
			WHERE key_id = ? AND day || '_' || printf('%03d', number) = summaries.generation), 0) < ?`, id, rowID(r.id, maxSeq), r.id, m.Seq)
		if err != nil {
			return err
		}
		x.got.Summaries += int(n)
	}
	x.touch(r, true)
	return x.row(`SELECT coalesce(max(id), 0) & 4294967295 FROM summaries WHERE id BETWEEN ? AND ? AND generation = ?`,
		rowID(r.id, 0), rowID(r.id, maxSeq), r.conv.generation).Scan(&r.conv.covers)
}
