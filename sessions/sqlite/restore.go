package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
	"dragoman/sessions/spool"
)

// Restore is part of [sessions.Copies].
func (s *Store) Restore(ctx context.Context, next func() (sessions.Record, error)) error {
	_, err := s.Take(ctx, next)
	return err
}

// Take is part of [sessions.Copies]. All records are read before anything is
// changed. What is there already of facts, people, jobs and occurrences and
// things set aside stays as it is. Delivery ids are those of the records; new
// ones begin with this store's own prefix, so they are never the same.
func (s *Store) Take(ctx context.Context, next func() (sessions.Record, error)) (taken sessions.Taken, err error) {
	plan, err := rules.ReadPlan(ctx, func() (*os.File, error) { return spool.Temp(filepath.Dir(s.path)) }, next)
	if err != nil {
		return taken, wrap("restore", err)
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	ahead, err := s.stage(ctx, plan)
	if err == nil {
		err = s.updateAlone(ctx, "restore", func(t *tx) error {
			taken = sessions.Taken{}
			return t.restore(plan, ahead, &taken)
		}, nil)
	}
	if err != nil {
		for _, st := range ahead {
			s.sweep(context.WithoutCancel(ctx), []int64{st.id})
		}
		return sessions.Taken{}, err
	}
	return taken, nil
}

func (t *tx) restore(plan *rules.Plan, ahead map[channels.Key]*staged, taken *sessions.Taken) error {
	if err := t.restoreStore(plan.Store, taken); err != nil {
		return err
	}
	for _, k := range plan.Keys {
		if err := t.restoreChat(plan, plan.Chats[k], ahead[k]); err != nil {
			return err
		}
		taken.Conversations++
	}
	if err := t.restoreOthers(plan, taken); err != nil {
		return err
	}
	for dedupe, link := range plan.Links {
		err := t.exec(`UPDATE occurrences SET inbox_id = (SELECT id FROM inbox WHERE dedupe = ?) WHERE job = ? AND due = ? AND inbox_id = 0`,
			dedupe, link.Job, nanos(link.Due))
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) restoreStore(r *sessions.StoreRecord, taken *sessions.Taken) error {
	if r == nil {
		return nil
	}
	fresh, err := t.changed(`UPDATE meta SET name = ?1 WHERE name <> ?1`, r.Name)
	if err != nil {
		return err
	}
	for day, n := range r.Days {
		changed, err := t.begun(day, n)
		if err != nil {
			return err
		}
		fresh += changed
	}
	for _, hash := range r.Erased {
		t.hashes = true
		changed, err := t.changed(`INSERT INTO erased (hash) VALUES (?) ON CONFLICT DO NOTHING`, hash)
		if err != nil {
			return err
		}
		fresh += changed
	}
	taken.Others += int(min(fresh, 1))
	return nil
}

// begun notes that at least n generations began on day, and tells whether that
// was new.
func (t *tx) begun(day string, n int64) (changed int64, err error) {
	return t.changed(`INSERT INTO days (day, begun) VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET begun = excluded.begun WHERE excluded.begun > begun`, day, n)
}

func (t *tx) restoreChat(plan *rules.Plan, p *rules.ChatPlan, ahead *staged) error {
	r, err := t.key(p.Head.Key)
	if err != nil {
		return err
	}
	queued, err := t.queued(r)
	if err == nil && (queued || r.conv != nil) {
		err = fmt.Errorf("%w: %s is here already", sessions.ErrConflict, r.key)
	}
	if err != nil {
		return err
	}
	t.touch(r, p.Conversation)
	r.seq, r.msgSeq = max(r.seq, p.Head.Seq), p.Head.MessageSeq
	if p.Conversation {
		if err := t.restoreConversation(r, plan, p, ahead); err != nil {
			return err
		}
	}
	for _, rec := range p.Inbox {
		if err := t.restoreIn(r, rec); err != nil {
			return err
		}
	}
	for _, rec := range p.Outbox {
		if err := t.restoreOut(r, rec); err != nil {
			return err
		}
	}
	return t.openItems(r, false)
}

func (t *tx) restoreConversation(r *keyRow, plan *rules.Plan, p *rules.ChatPlan, ahead *staged) error {
	h := p.Head
	created := cmp.Or(nanos(h.Created), nanos(t.now))
	r.conv = &convRow{
		from: r.msgSeq, title: h.Title, created: created, updated: cmp.Or(nanos(h.Updated), created),
		messages: int64(p.Messages), settings: encodeSettings(h.Settings),
	}
	if ahead != nil {
		if err := t.unstage(r, ahead); err != nil {
			return err
		}
	}
	for _, g := range h.Generations {
		if err := t.restoreGeneration(r, g); err != nil {
			return err
		}
	}
	if ahead == nil {
		if err := plan.Each(p, func(stretch []sessions.Message) error { return t.restoreMessages(r, stretch) }); err != nil {
			return err
		}
	}
	for _, s := range h.Summaries {
		r.conv.covers = s.CoversSeq
		err := t.exec(`INSERT INTO summaries (id, generation, model, at, text, fields) VALUES (?, ?, ?, ?, ?, ?)`,
			rowID(r.id, s.CoversSeq), r.conv.generation, s.Model, nanos(s.At), s.Text, string(s.Fields))
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) restoreMessages(r *keyRow, messages []sessions.Message) error {
	rows := messageRows(messages, "", t.now)
	for _, row := range rows {
		r.conv.usage.Add(row.usage)
	}
	return t.insertMessages(r.id, messages, rows)
}

// insertMessages stores messages, made ready as rows, under the id of a key.
func (t *tx) insertMessages(key int64, messages []sessions.Message, rows []messageRow) error {
	for i, row := range rows {
		id := rowID(key, messages[i].Seq)
		err := t.exec(`INSERT INTO messages (id, role, bytes, rest, content) VALUES (?, ?, ?, ?, ?)`, id, string(row.role), row.bytes, row.rest, row.content)
		if err == nil && row.words != "" {
			err = t.exec(`INSERT INTO words (rowid, said) VALUES (?, ?)`, id, row.words)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// restoreGeneration keeps the id of g if it is free.
func (t *tx) restoreGeneration(r *keyRow, g sessions.Generation) error {
	began := cmp.Or(nanos(g.Began), nanos(t.now))
	day, number, err := rules.ParseGeneration(g.ID)
	taken := err != nil
	if !taken {
		if err := t.row(`SELECT EXISTS (SELECT 1 FROM generations WHERE day = ? AND number = ?)`, day, number).Scan(&taken); err != nil {
			return err
		}
	}
	if taken {
		day = rules.Day(timeOf(began))
		if err := t.row(`SELECT 1 + coalesce((SELECT begun FROM days WHERE day = ?), 0)`, day).Scan(&number); err != nil {
			return err
		}
	}
	if _, err := t.begun(day, number); err != nil {
		return err
	}
	r.conv.generation, r.conv.from = rules.Generation(day, number), g.FirstSeq-1
	return t.exec(`INSERT INTO generations (key_id, day, number, from_seq, began) VALUES (?, ?, ?, ?, ?)`, r.id, day, number, g.FirstSeq-1, began)
}

func (t *tx) restoreIn(r *keyRow, rec sessions.InboxRecord) error {
	dedupe := rules.Dedupe(rec.Inbound)
	n, err := t.changed(`INSERT INTO inbox (id, dedupe, message_id, origin, state, rev, attempts, due, accepted, turn, why, rest, text)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (dedupe) DO NOTHING`,
		rowID(r.id, rec.Seq), dedupe, rec.Inbound.MessageID, string(rec.Origin), rec.State, rec.Rev, rec.Attempts, nanos(rec.Due),
		nanos(rec.Accepted), rec.Turn, rec.Why, restOf(rec.Inbound), rec.Inbound.Text)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: message %q of %s is here already", sessions.ErrConflict, rec.Inbound.ID, r.key)
	}
	for _, step := range rec.Steps {
		if err == nil {
			err = t.exec(`INSERT INTO steps (key_id, turn, data) VALUES (?, ?, ?)`, r.id, rec.Turn, encode(step))
		}
	}
	return err
}

func (t *tx) restoreOut(r *keyRow, rec sessions.OutboxRecord) error {
	if o, err := t.delivery(rec.ID); err == nil && o != nil {
		return fmt.Errorf("%w: delivery %q of %s is here already", sessions.ErrConflict, rec.ID, r.key)
	}
	return t.exec(`INSERT INTO outbox (id, state, uncertain, attempts, due, created, reply_to, edit, message_id, why, text, did)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		rowID(r.id, rec.Seq), string(rec.State), rec.Uncertain, rec.Attempts, nanos(rec.NotBefore), nanos(rec.Created),
		rec.ReplyTo, rec.Edit, rec.MessageID, rec.Error, rec.Text, rec.ID)
}

func (t *tx) restoreOthers(plan *rules.Plan, taken *sessions.Taken) (err error) {
	add := func(query string, args ...any) {
		if err == nil {
			var n int64
			n, err = t.changed(query, args...)
			taken.Others += int(n)
		}
	}
	for _, a := range plan.Asides {
		add(`INSERT INTO aside (channel, msg_id, at, dropped, why, raw) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			a.Channel, a.ID, nanos(a.At), a.Dropped, a.Why, append([]byte{}, a.Raw...))
	}
	for _, f := range plan.Facts {
		add(`INSERT INTO facts (id, scope, at, text)
			SELECT iif(?1 > 0 AND NOT EXISTS (SELECT 1 FROM facts WHERE id = ?1), ?1, NULL), ?2, ?3, ?4
			WHERE NOT EXISTS (SELECT 1 FROM facts WHERE scope = ?2 AND text = ?4)`, f.ID, f.Scope, nanos(f.At), f.Text)
	}
	for _, p := range plan.Pairings {
		add(`INSERT INTO people (channel, person, name, code, compare, expires, approved) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			p.Channel, p.PersonID, p.Name, p.Code, rules.Code(p.Code), nanos(p.Expires), nanos(p.Approved))
	}
	for _, j := range plan.Jobs {
		add(`INSERT INTO jobs (job, due) VALUES (?, ?) ON CONFLICT DO NOTHING`, j.Job, nanos(j.Due))
	}
	for _, o := range plan.Occurrences {
		add(`INSERT INTO occurrences (job, due, outcome, why, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			o.Job, nanos(o.Due), o.Outcome, o.Why, nanos(o.At))
	}
	return err
}
