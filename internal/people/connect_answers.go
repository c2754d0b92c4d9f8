package people

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/sessions"
)

// Answer says yes or no to the question that waits for s, and connects both if that was the
// last yes. The caller has made sure that the other side may still talk. Without a question
// it returns the last one that ended, with found false if there is none.
func (c *Connections) Answer(ctx context.Context, s Side, yes bool) (p Connecting, found bool, err error) {
	err = c.change(ctx, "answer a question", func(st *connecting) error {
		h := st.questionFor(s)
		found = h != nil
		if !found {
			return nil
		}
		h.side.Chat = s.Chat
		if h.record.State == Asked {
			err := st.answer(h, yes)
			if err != nil {
				return err
			}
		}
		p = st.seen(h)
		return nil
	})
	return p, found, err
}

// Cancel ends the question that waits for s, because it cannot be answered any more.
func (c *Connections) Cancel(ctx context.Context, s Side) error {
	return c.change(ctx, "end a question", func(st *connecting) error {
		if h := st.questionFor(s); h != nil && h.record.State == Asked {
			st.end(h.name, Changed)
		}
		return nil
	})
}

// Other is the other side of the question that waits for s; found is false without one.
func (c *Connections) Other(ctx context.Context, s Side) (other Side, found bool, err error) {
	notes, err := c.directory.store.Notes(ctx, sessions.NoteFilter{Kind: connectKind})
	if err != nil {
		return other, false, fmt.Errorf("people: look for a question: %w", err)
	}
	st := readConnecting(notes, c.now())
	h := st.questionFor(s)
	if h == nil || h.record.State != Asked {
		return other, false, nil
	}
	o := st.other(h)
	if o == nil {
		return other, false, nil
	}
	return o.side, true, nil
}

// Untold ends what is over, and returns what each side has not been told: see
// [Connections.Told].
func (c *Connections) Untold(ctx context.Context) (list []Connecting, err error) {
	notes, err := c.directory.store.Notes(ctx, sessions.NoteFilter{Kind: connectKind})
	if err != nil || len(notes) == 0 {
		return nil, attempt("look for questions", err)
	}
	if !readConnecting(notes, c.now()).waits() {
		return nil, nil
	}
	err = c.change(ctx, "end questions", func(st *connecting) error {
		st.expire()
		list = nil
		for _, h := range st.halves {
			if h.record.State != Offered && h.record.Told != h.record.State && !h.removed {
				list = append(list, st.seen(h))
			}
		}
		return nil
	})
	return list, err
}

// Told notes that p.Me knows of p.
func (c *Connections) Told(ctx context.Context, p Connecting) error {
	if len(p.Me.Identities) == 0 {
		return nil
	}
	owner := p.Me.Identities[0]
	err := c.directory.store.ChangeNotes(ctx, connectKind, owner, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		for _, n := range have {
			h, is := readHalf(n)
			switch {
			case !is || h.name != p.ID:
			case h.record.State == Left:
				return nil, []string{n.Name}, nil
			case h.record.State == p.State:
				h.record.Told = p.State
				told, err := h.note()
				return []sessions.Note{told}, nil, err
			}
		}
		return nil, nil, nil
	})
	return attempt("note who was told", err)
}

// answer takes what h says, and connects both after the second yes.
func (st *connecting) answer(h *half, yes bool) error {
	o := st.other(h)
	switch {
	case !st.now.Before(h.record.Until):
		st.end(h.name, TimedOut)
		return nil
	case !yes:
		st.end(h.name, Refused)
		return nil
	case o == nil || h.record.Sum != sumOf(append(st.allOf(h.side), st.allOf(o.side)...)...),
		st.personOf(h.side) == st.personOf(o.side), st.personOf(h.side) == OperatorID, st.personOf(o.side) == OperatorID:
		st.end(h.name, Changed)
		return nil
	}
	h.record.Yes = true
	h.changed = true
	if !o.record.Yes {
		return nil
	}
	err := st.connect(h.side, o.side)
	if err != nil {
		return err
	}
	st.end(h.name, Connected)
	return nil
}

// connect writes the notes that make one person of two sides. Each keeps its rights.
func (st *connecting) connect(one, other Side) error {
	into := newPerson()
	for _, known := range []string{st.personOf(other), st.personOf(one)} {
		if strings.HasPrefix(known, personPrefix) {
			into = known
		}
	}
	for _, side := range []Side{one, other} {
		fresh := newPerson() // whose rights those are that were alone
		for _, identity := range side.Identities {
			if _, joined := st.links[identity]; joined {
				fresh = st.links.holder(identity)
			}
		}
		for _, identity := range st.allOf(side) {
			j, known := st.links[identity]
			if !known {
				j = joined{Since: st.now, Holder: fresh}
			}
			if known {
				j.Holder = st.links.holder(identity)
			}
			if slices.Contains(side.Identities, identity) {
				j.Chat = side.Chat
			}
			j.Person = into
			n, err := linkNote(identity, j)
			if err != nil {
				return err
			}
			st.put = append(st.put, n)
		}
	}
	return nil
}

// waits reports whether somebody has to be told, or something is over.
func (st *connecting) waits() bool {
	return slices.ContainsFunc(st.halves, func(h *half) bool {
		return !st.now.Before(h.record.Until) || h.record.State != Offered && h.record.Told != h.record.State
	})
}
