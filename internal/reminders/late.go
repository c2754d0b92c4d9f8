package reminders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// recipient is who is told about texts that are late: a maker, in a chat. Two makers of one
// chat are told apart, so that the words of each can be erased alone.
type recipient struct {
	owner string
	key   channels.Key
}

// tellLate tells each of late all of their texts that are late, in one message.
func (r *Runner) tellLate(ctx context.Context, late []recipient) (err error) {
	for i, to := range late {
		if slices.Contains(late[:i], to) {
			continue
		}
		failed := r.tell(ctx, to)
		if failed != nil && !errors.Is(failed, sessions.ErrConflict) {
			err = cmp.Or(err, fmt.Errorf("reminders: tell %s what is late: %w", to.owner, failed))
		}
	}
	return err
}

// tell delivers all texts for to that are late.
func (r *Runner) tell(ctx context.Context, to recipient) error {
	now := r.now()
	notes, err := r.ledger.Notes(ctx, sessions.NoteFilter{Kind: Kind, Owner: to.owner, DueBefore: now})
	if err != nil {
		return err
	}
	var all []arrival
	for _, n := range notes {
		a, err := r.judge(ctx, n, now)
		if err != nil {
			return err
		}
		if a.toldLate() && a.rem.Key == to.key {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil // another node was faster
	}
	return r.deliver(ctx, all, now)
}

// deliver puts the texts of all, which are of one recipient, into the outbox as one message.
func (r *Runner) deliver(ctx context.Context, all []arrival, now time.Time) error {
	var names []string
	var taint []sessions.Origin
	var also []sessions.CameDue
	for i, a := range all {
		names = append(names, a.rem.name)
		taint = append(taint, a.rem.Origins...)
		if i == 0 {
			continue
		}
		rem := a.delivered(now)
		rem.due = a.next
		next, err := rem.note()
		if err != nil {
			return err
		}
		also = append(also, sessions.CameDue{Note: a.note, Next: &next, Occurrence: occurrence(a.note, rem, "ran", "").Occurrence})
	}
	rem := all[0].delivered(now)
	if !rem.Private { // others read the words of its maker
		taint = append(taint, sessions.OriginOthers)
	}
	m := occurrence(all[0].note, rem, "ran", "")
	m.Also = also
	r.chats.Remind(&m, strings.Join(names, ", "), r.words(all, now), sessions.TaintOf(taint...).List())
	for i := range m.Append {
		m.Append[i].Sender = rem.Maker.ID() // with whom it is erased
	}
	return r.end(ctx, m, rem, all[0].next)
}

// words are what is delivered of all: the text of one, or a list.
func (r *Runner) words(all []arrival, now time.Time) string {
	words := ""
	first := all[0].rem
	if !first.Private && first.Maker.Name != "" {
		words = "For " + first.Maker.Name + ": "
	}
	if len(all) == 1 {
		words += first.Text
		if late := r.lateness(all[0], now); late != "" {
			words += "\n\n" + late
		}
		return words
	}
	words += fmt.Sprintf("%d reminders are late:\n", len(all))
	for _, a := range all {
		text := strings.ReplaceAll(a.rem.Text, "\n", "\n  ")
		words += fmt.Sprintf("\n- %s: %s %s", a.rem.name, text, r.lateness(a, now))
	}
	return words
}

// lateness is what is told about a delivery that is late, or before which others were
// missed, in brackets; else "".
func (r *Runner) lateness(a arrival, now time.Time) string {
	var parts []string
	if a.late {
		form := "15:04"
		if now.Sub(a.due) > 20*time.Hour {
			form = "15:04 on Monday 2 January"
		}
		why := "I was not running"
		if !a.rem.Since.IsZero() {
			why = "it was paused"
		}
		parts = append(parts, "was due at "+a.due.In(r.book.zone(a.rem.Zone)).Format(form)+"; "+why)
	}
	switch missed := a.rem.Missed; {
	case missed == 1:
		parts = append(parts, "one before it was missed")
	case missed > 1:
		parts = append(parts, fmt.Sprintf("%d before it were missed", missed))
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, "; ") + ")"
}
