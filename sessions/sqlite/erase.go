package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Erase is part of [sessions.Lifetime]. The rows go in one transaction; after
// it the search index is written anew, the file is, and the log is emptied, so
// that no page holds what was erased. That takes the time and, for a moment,
// the room of a copy of the file, and nothing else is written meanwhile. If it
// fails after the transaction the error says so: call it again. What [Copies]
// lists is removed and named.
func (s *Store) Erase(ctx context.Context, e sessions.Erasure) (got sessions.Erased, err error) {
	done := false
	var rewrote []channels.Key
	err = s.updateAlone(ctx, "erase", func(t *tx) error {
		got, rewrote, err = t.erase(e)
		return err
	}, func() (err error) {
		done = true
		for _, k := range rewrote { // now that who reads finds it gone
			s.writer.rewritten[k] = s.now()
		}
		if got.Copies, err = s.wipe(); err != nil {
			return fmt.Errorf("it is erased, but traces may be left in the files, do it again: %w", err)
		}
		return nil
	})
	if !done {
		return sessions.Erased{}, err
	}
	return got, err
}

// wipe leaves nothing in the files but what the tables hold, and names the
// copies that it removed. It runs on the writer's goroutine.
func (s *Store) wipe() (copies []string, err error) {
	for _, query := range []string{
		`INSERT INTO words (words) VALUES ('optimize')`,
		`VACUUM`,
	} {
		if err := s.writer.exec(query); err != nil {
			return nil, err
		}
	}
	if copies, err = removeCopies(s.path); err != nil {
		return copies, err
	}
	var busy, frames, moved int
	if err := s.writer.row(`PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved); err != nil {
		return copies, err
	}
	if busy != 0 {
		return copies, errors.New("somebody reads the file, the log cannot be emptied")
	}
	return copies, nil
}

// Copies lists the copies of the whole store that changes of its schema left
// beside the file at path. An erasure removes them: they hold everything as it
// was then.
func Copies(path string) (copies []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("sqlite: list the copies: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+backupSuffix) {
			copies = append(copies, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return copies, nil
}

// removeCopies removes them and names those that are gone.
func removeCopies(path string) (gone []string, err error) {
	all, err := Copies(path)
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		if err := os.Remove(name); err != nil {
			return gone, err
		}
		gone = append(gone, name)
	}
	return gone, syncPath(filepath.Dir(path))
}

// eraser is one erasure.
type eraser struct {
	*tx
	got   sessions.Erased
	files map[string]bool
	// rewrote are conversations that go on without some of their messages.
	rewrote []channels.Key
}

func (t *tx) erase(e sessions.Erasure) (sessions.Erased, []channels.Key, error) {
	x := &eraser{tx: t, files: map[string]bool{}}
	if err := t.shred(); err != nil {
		return x.got, nil, err
	}
	if err := t.sweepAll(); err != nil {
		return x.got, nil, err
	}
	for _, k := range e.Keys {
		r, err := t.find(k)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err == nil {
			err = x.key(r)
		}
		if err != nil {
			return x.got, nil, err
		}
	}
	for _, scope := range e.Scopes {
		n, err := t.changed(`DELETE FROM facts WHERE scope = ?`, scope)
		if err != nil {
			return x.got, nil, err
		}
		x.got.Facts += int(n)
	}
	for channel, ids := range rules.SendersByChannel(e.Senders) {
		if err := x.people(channel, ids); err != nil {
			return x.got, nil, err
		}
	}
	if err := x.asides(e); err != nil {
		return x.got, nil, err
	}
	x.got.Files = slices.Sorted(maps.Keys(x.files))
	return x.got, x.rewrote, nil
}

// shred has what is deleted overwritten. Recycled memory must not carry old
// text into new pages either, so that stays on.
func (t *tx) shred() error {
	var on int
	return t.row(`PRAGMA secure_delete = 1`).Scan(&on)
}

// forgetDone removes of the queues of r what is done, and reports whether
// there was any.
func (t *tx) forgetDone(r *keyRow) (any bool, err error) {
	if err := t.shred(); err != nil {
		return false, err
	}
	x := &eraser{tx: t, files: map[string]bool{}}
	inbox, err := x.inbox(r, nil)
	if err != nil {
		return false, err
	}
	for _, w := range inbox {
		if w.state == rules.InWaiting {
			continue
		}
		any = true
		if err := x.forgetIn(r, w); err != nil {
			return any, err
		}
	}
	n, err := t.changed(`DELETE FROM outbox WHERE state IN ('sent', 'dead', 'dropped') AND id BETWEEN ? AND ?`, rowID(r.id, 0), rowID(r.id, maxSeq))
	return any || n > 0, err
}

// asides forgets what was set aside and names somebody or something that is
// erased.
func (x *eraser) asides(e sessions.Erasure) error {
	rows, err := x.rows(`SELECT id, channel, msg_id, raw FROM aside`)
	if err != nil {
		return err
	}
	var gone []int64
	err = each(rows, func() error {
		var id int64
		var a sessions.Aside
		err := rows.Scan(&id, &a.Channel, &a.ID, &a.Raw)
		if rules.AsideNames(a, e) {
			gone = append(gone, id)
		}
		return err
	})
	for _, id := range gone {
		err = errors.Join(err, x.exec(`DELETE FROM aside WHERE id = ?`, id))
		x.got.Queued++
	}
	return err
}

// key forgets all of r.
func (x *eraser) key(r *keyRow) error {
	x.fenced = append(x.fenced, r.key)
	if err := x.openItems(r, true); err != nil {
		return err
	}
	inbox, err := x.inbox(r, nil)
	if err != nil {
		return err
	}
	for _, w := range inbox {
		if err := x.forgetIn(r, w); err != nil {
			return err
		}
	}
	if r.conv != nil {
		x.got.Conversations++
		if _, err := x.messages(r, nil); err != nil {
			return err
		}
	}
	from, to := rowID(r.id, 0), rowID(r.id, maxSeq)
	for query, count := range map[string]*int{
		`DELETE FROM messages WHERE id BETWEEN ? AND ?`:  &x.got.Messages,
		`DELETE FROM summaries WHERE id BETWEEN ? AND ?`: &x.got.Summaries,
		`DELETE FROM outbox WHERE id BETWEEN ? AND ?`:    &x.got.Queued,
	} {
		n, err := x.changed(query, from, to)
		if err != nil {
			return err
		}
		*count += int(n)
	}
	if err := x.exec(`DELETE FROM steps WHERE key_id = ?`, r.id); err != nil {
		return err
	}
	if err := x.deleteConversation(r); err != nil {
		return err
	}
	delete(x.keys, r.key)
	if err := x.exec(`UPDATE meta SET last_key = max(last_key, ?)`, r.id); err != nil {
		return err
	}
	return x.exec(`DELETE FROM keys WHERE id = ?`, r.id)
}

// inbox reads the rows of r whose sender is one of ids, or all if ids is nil.
func (x *eraser) inbox(r *keyRow, ids []string) (list []inRow, err error) {
	rows, err := x.rows(`SELECT `+inColumns+` FROM inbox WHERE id BETWEEN ? AND ?`, rowID(r.id, 0), rowID(r.id, maxSeq))
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		w, err := scanIn(rows, r.key)
		mine := slices.ContainsFunc(w.inbound.Sender.IDs, func(id string) bool { return slices.Contains(ids, id) })
		if err == nil && (ids == nil || mine) {
			w.inbound.Text = "" // not needed, and it can be long
			list = append(list, w)
		}
		return err
	})
	return list, err
}

// forgetIn removes an inbox row; that it was there stays known.
func (x *eraser) forgetIn(r *keyRow, w inRow) error {
	rules.Files(x.files, w.inbound.Attachments)
	x.got.Queued++
	x.hashes = true
	id := rowID(r.id, w.seq)
	var dedupe string
	if err := x.row(`DELETE FROM inbox WHERE id = ? RETURNING dedupe`, id).Scan(&dedupe); err != nil {
		return err
	}
	hashes := []string{rules.Hash(dedupe)}
	if mark, ok := rules.ErasedMark(w.inbound); ok {
		hashes = append(hashes, mark)
	}
	for _, hash := range hashes {
		if err := x.exec(`INSERT INTO erased (hash) VALUES (?) ON CONFLICT DO NOTHING`, hash); err != nil {
			return err
		}
	}
	return x.exec(`UPDATE occurrences SET inbox_id = 0 WHERE inbox_id = ? AND inbox_id <> 0`, id)
}

// messages reads those of r that one of ids sent, all if ids is nil, notes
// their files and returns them without what they say.
func (x *eraser) messages(r *keyRow, ids []string) (list []sessions.Message, err error) {
	rows, err := x.rows(`SELECT id, role, rest, '' FROM messages WHERE id BETWEEN ? AND ?`, rowID(r.id, 0), rowID(r.id, maxSeq))
	if err != nil {
		return nil, err
	}
	scan := newMessageScan(rows)
	err = each(rows, func() error {
		m, err := scan.next()
		if err == nil && (ids == nil || m.Sender != "" && slices.Contains(ids, m.Sender)) {
			rules.Files(x.files, m.Attachments)
			if ids != nil {
				list = append(list, rules.EraseMessage(m))
			}
		}
		return err
	})
	return list, err
}

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
	if s.Metadata[sessions.FieldsName] != nil {
		rules.SetForeignFields(&s, nil)
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

// transcriptOf replaces what people said in the transcript of r and removes
// the summaries that may tell of it.
func (x *eraser) transcriptOf(r *keyRow, ids []string) error {
	if r.conv == nil {
		return nil
	}
	mine, err := x.messages(r, ids)
	if err != nil || len(mine) == 0 {
		return err
	}
	x.got.Messages += len(mine)
	x.rewrote = append(x.rewrote, r.key)
	for _, m := range mine {
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
