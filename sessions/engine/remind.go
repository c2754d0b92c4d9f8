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

// Remind ends one occurrence of a note in one commit, and the others that came due with it:
// it records the outcomes, puts the replies into the outbox and the message into the inbox,
// adds to the transcript, and replaces or removes the notes. Of several callers that have
// read the same note, on whatever nodes, one succeeds.
//
// Errors: ErrConflict if one of the notes is gone, is due at another time, or has other data.
func (s *Store) Remind(ctx context.Context, m sessions.Reminding) error {
	err := checkReminding(m)
	if err != nil {
		return s.wrap("remind", err)
	}
	all := append([]sessions.CameDue{{Note: m.Note, Next: m.Next, Occurrence: m.Occurrence}}, m.Also...)
	for i := range all {
		all[i].Next, err = cleanNext(all[i])
		if err != nil {
			return s.wrap("remind", err)
		}
	}
	return s.update(ctx, "remind", func(st *step) error {
		c := st.chat(m.Key)
		for _, d := range all {
			err := st.cameDue(d)
			if err != nil {
				return err
			}
		}
		st.appendMessages(c, "", m.Append, m.Author)
		st.addReplies(c, m.Replies)
		if m.Message != nil {
			return st.prompt(c, m)
		}
		return nil
	}, m.Key)
}

// cleanNext is what replaces the note of d, as it is stored; nil: nothing.
func cleanNext(d sessions.CameDue) (*sessions.Note, error) {
	if d.Next == nil {
		return nil, nil
	}
	next, err := cleanNote(d.Note.Kind, d.Note.Owner, *d.Next)
	if err == nil && next.Name != d.Note.Name {
		err = fmt.Errorf("the note %q would be replaced by %q", d.Note.Name, next.Name)
	}
	return &next, err
}

// cameDue ends the occurrence of d. Errors: ErrConflict.
func (st *step) cameDue(d sessions.CameDue) error {
	old, err := st.unchanged(d.Note)
	if err != nil {
		return err
	}
	if d.Next == nil {
		st.changes.Removed = append(st.changes.Removed, rows.Record{Note: old})
	} else {
		put := *d.Next
		put.At = rules.Time(st.now)
		st.record(rows.Record{Note: &put})
	}
	st.occurred(d.Occurrence)
	return nil
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
	err := checkCameDue(m.Note, m.Occurrence)
	for _, d := range m.Also {
		err = cmp.Or(err, checkCameDue(d.Note, d.Occurrence), knownOutcome(d.Occurrence.Outcome))
	}
	switch {
	case err != nil:
		return err
	case m.Message == nil:
		return knownOutcome(m.Occurrence.Outcome)
	case len(m.Also) > 0:
		return errors.New("a prompt comes with others")
	case m.Message.Key != m.Key || m.Occurrence.Outcome != "fired":
		return errors.New("a prompt is for another conversation, or has an outcome already")
	}
	return checkEntry(sessions.Entry{Inbound: rules.Inbound(*m.Message), Source: sessions.SourceHeartbeat})
}

// checkCameDue refuses an occurrence of a note that could not be stored.
func checkCameDue(n sessions.Note, o sessions.Occurrence) error {
	return cmp.Or(checkKind(n.Kind), checkName("owner", n.Owner), checkName("name", n.Name), hasJob(o.Job))
}
