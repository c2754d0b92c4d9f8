package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Remind ends one occurrence of a note in one commit: it records the outcome, puts the
// replies into the outbox and the message into the inbox, adds to the transcript, and replaces or removes the note.
// Of several callers that have read the same note, on whatever nodes, one succeeds.
//
// Errors: ErrConflict if the note is gone, is due at another time, or has other data.
func (s *Store) Remind(ctx context.Context, m sessions.Reminding) error {
	err := checkReminding(m)
	var next sessions.Note
	if err == nil && m.Next != nil {
		next, err = cleanNote(m.Note.Kind, m.Note.Owner, *m.Next)
	}
	if err == nil && m.Next != nil && next.Name != m.Note.Name {
		err = fmt.Errorf("the note %q would be replaced by %q", m.Note.Name, next.Name)
	}
	if err != nil {
		return s.wrap("remind", err)
	}
	return s.update(ctx, "remind", func(st *step) error {
		c := st.chat(m.Key)
		old, err := st.unchanged(m.Note)
		if err != nil {
			return err
		}
		if m.Next == nil {
			st.changes.Removed = append(st.changes.Removed, rows.Record{Note: old})
		} else {
			put := next
			put.At = rules.Time(st.now)
			st.record(rows.Record{Note: &put})
		}
		st.occurred(m.Occurrence)
		st.appendMessages(c, "", m.Append, m.Author)
		st.addReplies(c, m.Replies)
		if m.Message != nil {
			return st.prompt(c, m)
		}
		return nil
	}, m.Key)
}

// unchanged is the stored note that is like n. Errors: ErrConflict.
func (st *step) unchanged(n sessions.Note) (*sessions.Note, error) {
	stored, found := st.one(rows.Record{Note: &sessions.Note{Kind: n.Kind, Owner: n.Owner, Name: n.Name}})
	if st.err != nil {
		return nil, st.err
	}
	if !found || !stored.Note.Due.Equal(rules.Time(n.Due)) || !bytes.Equal(stored.Note.Data, rules.JSON(n.Data)) {
		return nil, fmt.Errorf("%w: the note %q of %s has changed", sessions.ErrConflict, n.Name, n.Owner)
	}
	return stored.Note, nil
}

// prompt puts the message of m into the inbox, unless it was there once.
func (st *step) prompt(c *chat, m sessions.Reminding) error {
	e := sessions.Entry{Inbound: rules.Inbound(*m.Message), Source: sessions.SourceHeartbeat}
	_, seen := st.seen(e.Inbound)
	if seen {
		return st.err
	}
	r := st.addInbound(c, e, rules.InWaiting)
	r.Job = rules.Text(m.Occurrence.Job)
	r.JobDue = rules.Time(m.Occurrence.Due)
	st.put(c, r, true)
	return st.err
}

// checkReminding refuses what could not be stored.
func checkReminding(m sessions.Reminding) error {
	if m.Key.IsZero() {
		return errors.New("a reminder without a conversation")
	}
	err := cmp.Or(checkKind(m.Note.Kind), checkName("owner", m.Note.Owner), checkName("name", m.Note.Name), hasJob(m.Occurrence.Job))
	if err != nil {
		return err
	}
	if m.Message == nil {
		return knownOutcome(m.Occurrence.Outcome)
	}
	if m.Message.Key != m.Key || m.Occurrence.Outcome != "fired" {
		return errors.New("a prompt is for another conversation, or has an outcome already")
	}
	return checkEntry(sessions.Entry{Inbound: rules.Inbound(*m.Message), Source: sessions.SourceHeartbeat})
}
