package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// inRow is a row of the inbox table.
type inRow struct {
	seq      int64
	rev      int
	state    string
	origin   sessions.Origin
	attempts int
	due      time.Time
	accepted time.Time
	turn     string
	why      string
	dedupe   string
	inbound  channels.Inbound
}

const inColumns = `id, dedupe, message_id, origin, state, rev, attempts, due, accepted, turn, why, rest, text`

// scanIn reads a row of inColumns of key k.
func scanIn(row scanner, k channels.Key) (inRow, error) {
	var w inRow
	var id, due, accepted int64
	var rest []byte
	m := &w.inbound
	if err := row.Scan(&id, &w.dedupe, &m.MessageID, &w.origin, &w.state, &w.rev, &w.attempts, &due, &accepted, &w.turn, &w.why, &rest, &m.Text); err != nil {
		return w, err
	}
	var r inboundRest
	if err := decode(rest, &r); err != nil {
		return w, err
	}
	w.seq, w.due, w.accepted = seqOf(id), timeOf(due), timeOf(accepted)
	_, m.ID, _ = strings.Cut(w.dedupe, ":")
	m.Key, m.Sender, m.Prefix, m.Private, m.Addressed = k, r.Sender, r.Prefix, r.Private, r.Addressed
	m.Edits, m.Deletes, m.Quote, m.Forwarded, m.Attachments, m.At = r.Edits, r.Deletes, r.Quote, r.Forwarded, r.Attachments, r.At
	return w, nil
}

func restOf(m channels.Inbound) []byte {
	return encode(inboundRest{m.Sender, m.Prefix, m.Private, m.Addressed, m.Edits, m.Deletes, m.Quote, m.Forwarded, m.Attachments, m.At})
}

// accepting is an entry with all that can be prepared before the writer, who
// is everybody's, takes it up.
type accepting struct {
	sessions.Entry
	dedupe string
	rest   []byte
	append []messageRow
}

// rememberMost is how many bytes a message or a delivery may have to be handed
// out from memory: with a full queue there is one of each for each key.
const rememberMost = 4 << 10

// stored is the message as its row will be read.
func (e *accepting) stored() channels.Inbound {
	m := e.Inbound
	m.Reaction, m.Album = "", ""
	return m
}

func prepareEntry(e sessions.Entry, now time.Time) (accepting, error) {
	if err := rules.CheckEntry(e); err != nil {
		return accepting{}, err
	}
	e.Inbound = rules.Inbound(e.Inbound)
	if e.Origin == "" {
		e.Origin = sessions.OriginChat
	}
	return accepting{e, rules.Dedupe(e.Inbound), restOf(e.Inbound), messageRows(e.Append, "", now)}, nil
}

// Accept is part of [sessions.Inbox].
func (s *Store) Accept(ctx context.Context, e sessions.Entry) (sessions.Acceptance, error) {
	a, err := prepareEntry(e, s.now())
	if err != nil {
		return sessions.Acceptance{}, wrap("accept", err)
	}
	var got sessions.Acceptance
	err = s.update(ctx, "accept", func(t *tx) (err error) {
		got, err = t.accept(a)
		return err
	})
	if err != nil {
		return sessions.Acceptance{}, err
	}
	return got, nil
}

func (t *tx) accept(e accepting) (sessions.Acceptance, error) {
	k := e.Inbound.Key
	if id, seen, err := t.seen(e.dedupe); err != nil || seen {
		return sessions.Acceptance{Outcome: sessions.Duplicate, Seq: seqOf(id), Waiting: t.waiting(k)}, err
	}
	if rules.ByItselfNothing(e.Entry) {
		if _, err := t.find(k); errors.Is(err, sql.ErrNoRows) {
			return sessions.Acceptance{Outcome: sessions.Unknown}, nil
		}
	}
	r, err := t.key(k)
	if err != nil {
		return sessions.Acceptance{}, err
	}
	outcome, edited, err := t.outcome(r, e.Entry)
	if err != nil || outcome == sessions.Unknown {
		return sessions.Acceptance{Outcome: outcome, Waiting: t.waiting(k)}, err
	}
	if n := t.waiting(k); outcome == sessions.Queued && e.MaxWaiting > 0 && n >= e.MaxWaiting {
		return sessions.Acceptance{}, fmt.Errorf("%w: %d messages wait", sessions.ErrFull, n)
	}
	if rules.Resets(e.Entry, outcome) && t.waiting(k) == 0 {
		if err := t.reset(r, e.ResetBefore); err != nil {
			return sessions.Acceptance{}, err
		}
	}
	got := sessions.Acceptance{Outcome: outcome}
	if got.Seq, err = t.addInbound(r, e, outcome); err != nil {
		return got, err
	}
	switch outcome {
	case sessions.Replaced:
		got.Seq = edited.seq
		err = t.replace(r, edited, e.Inbound)
	case sessions.Withdrawn:
		if edited.seq != 0 {
			got.Seq = edited.seq
			err = t.closeIn(r, edited, rules.InWithdrawn, rules.WhyWithdrawn(e.Inbound), "")
		}
	case sessions.Noted:
		err = t.appendMessages(r, messageRows([]sessions.Message{rules.Note(e.Inbound, edited.inbound)}, "", t.now))
	case sessions.Done:
		err = t.control(r, e.Entry)
	}
	if err == nil {
		err = t.appendMessages(r, e.append)
	}
	if err == nil && e.Control == sessions.ControlNew {
		err = t.newGeneration(r)
	}
	if err == nil {
		err = t.addReplies(r, e.Replies)
	}
	got.Waiting = t.waiting(k)
	return got, err
}

// reset begins a new generation if nothing was said since before. An empty
// generation is as good as a new one.
func (t *tx) reset(r *keyRow, before time.Time) error {
	if r.conv == nil || r.conv.from == r.msgSeq || r.conv.updated >= nanos(before) {
		return nil
	}
	return t.newGeneration(r)
}

// seen reports whether a message was accepted before, and as what.
func (t *tx) seen(dedupe string) (id int64, seen bool, err error) {
	err = t.row(`SELECT id FROM inbox WHERE dedupe = ?`, dedupe).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err == nil, err
	}
	seen, err = t.erased(rules.Hash(dedupe))
	return 0, seen, err
}

// erased reports whether something was erased that is remembered as hash.
func (t *tx) erased(hash string) (yes bool, err error) {
	if t.hashes {
		err = t.row(`SELECT EXISTS (SELECT 1 FROM erased WHERE hash = ?)`, hash).Scan(&yes)
	}
	return yes, err
}

// outcome decides what to do with a new message, and finds the one it changes.
func (t *tx) outcome(r *keyRow, e sessions.Entry) (sessions.Outcome, inRow, error) {
	var earlier []inRow // what it may be about, newest first
	if !e.Answered && e.Inbound.Edits != "" {
		rows, err := t.rows(`SELECT `+inColumns+` FROM inbox WHERE id >> 32 = ? AND message_id = ? AND message_id <> '' ORDER BY id DESC`, r.id, e.Inbound.Edits)
		if err != nil {
			return "", inRow{}, err
		}
		err = each(rows, func() error {
			w, err := scanIn(rows, r.key)
			earlier = append(earlier, w)
			return err
		})
		if err != nil {
			return "", inRow{}, err
		}
	}
	outcome, i := rules.Outcome(e, len(earlier), func(i int) rules.Earlier {
		return rules.Earlier{Inbound: earlier[i].inbound, State: earlier[i].state, Turn: earlier[i].turn, Gone: r.conv == nil}
	})
	if outcome == sessions.Queued && e.Inbound.Edits != "" {
		if mark, ok := rules.ErasedMark(e.Inbound); ok {
			if erased, err := t.erased(mark); err != nil || erased {
				return sessions.Unknown, inRow{}, err
			}
			if hidden, err := t.hidden(r.key, e.Inbound.Edits); err != nil || hidden {
				return sessions.Unknown, inRow{}, err
			}
		}
	}
	if i < 0 {
		return outcome, inRow{}, nil
	}
	return outcome, earlier[i], nil
}

// addInbound stores e in the state that goes with its outcome.
func (t *tx) addInbound(r *keyRow, e accepting, outcome sessions.Outcome) (seq int64, err error) {
	state := rules.StateFor(outcome)
	t.touch(r, false)
	r.seq++
	err = t.exec(`INSERT INTO inbox (id, dedupe, message_id, origin, state, accepted, rest, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		rowID(r.id, r.seq), e.dedupe, e.Inbound.MessageID, string(e.Origin), state, nanos(t.now), e.rest, e.Inbound.Text)
	if err == nil && state == rules.InWaiting {
		it := t.item(r, inRow{seq: r.seq, origin: e.Origin, accepted: t.now, state: state})
		if len(e.rest)+len(e.Inbound.Text) <= rememberMost {
			it.Body = &sessions.Waiting{Seq: r.seq, Inbound: e.stored(), Origin: e.Origin, Accepted: timeOf(nanos(t.now))}
		}
		t.items = append(t.items, it)
		t.counts = append(t.counts, count{r.key, 1})
	}
	return r.seq, err
}

// replace gives a waiting message the text of an edit.
func (t *tx) replace(r *keyRow, w inRow, edit channels.Inbound) error {
	m := rules.Edited(w.inbound, edit)
	t.inboxItem(r, w)
	return t.exec(`UPDATE inbox SET rev = rev + 1, rest = ?, text = ? WHERE id = ?`, restOf(m), m.Text, rowID(r.id, w.seq))
}

// control fences the running turn of r and closes what waits.
func (t *tx) control(r *keyRow, e sessions.Entry) error {
	control := e.Control
	if control == sessions.ControlNone {
		return nil
	}
	t.fenced = append(t.fenced, r.key)
	open, err := t.open(r)
	if err != nil {
		return err
	}
	var said []sessions.Message
	for _, w := range open {
		if !rules.Ends(e, w.seq, w.turn) {
			continue
		}
		if w.origin == sessions.OriginChat {
			said = append(said, sessions.UserMessage(w.inbound))
		}
		if err := t.closeIn(r, w, rules.InClosed, string(control), "ended by /"+string(control)); err != nil {
			return err
		}
	}
	if err := t.exec(`DELETE FROM steps WHERE key_id = ?`, r.id); err != nil {
		return err
	}
	return t.appendMessages(r, messageRows(said, "", t.now))
}

// open reads the waiting messages of r, in order.
func (t *tx) open(r *keyRow) ([]inRow, error) {
	rows, err := t.rows(`SELECT `+inColumns+` FROM inbox WHERE state = 'waiting' AND id BETWEEN ? AND ? ORDER BY id`, rowID(r.id, 0), rowID(r.id+1, 0)-1)
	if err != nil {
		return nil, err
	}
	var open []inRow
	err = each(rows, func() error {
		w, err := scanIn(rows, r.key)
		open = append(open, w)
		return err
	})
	return open, err
}

// closeIn ends a waiting message without an answer, and with it the occurrence
// that it came from, if any.
func (t *tx) closeIn(r *keyRow, w inRow, state, why, occurrence string) error {
	id := rowID(r.id, w.seq)
	if err := t.exec(`UPDATE inbox SET state = ?, why = ?, turn = '' WHERE id = ?`, state, why, id); err != nil {
		return err
	}
	w.state = state
	t.inboxItem(r, w)
	t.counts = append(t.counts, count{r.key, -1})
	if w.origin != sessions.OriginHeartbeat {
		return nil
	}
	return t.exec(`UPDATE occurrences SET outcome = 'skipped', why = ?, at = ? WHERE inbox_id = ? AND inbox_id <> 0`, occurrence, nanos(t.now), id)
}
