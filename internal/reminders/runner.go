package reminders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

const (
	// maxSleep is how long a [Runner] sleeps, so that it notices a jump of the clock, and
	// what another node was told.
	maxSleep = 15 * time.Second
	// maxRound is how many reminders are read at once.
	maxRound = 100
	// pauseAfter is how many occurrences fail, one after the other, before a reminder that
	// repeats is paused.
	pauseAfter = 3
	// keepDone is how long a reminder that has ended can still be put off.
	keepDone = 48 * time.Hour
	tidyEach = time.Hour
)

// far is later than all that is due.
var far = time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC)

// Ledger is the store of a [Runner]: sessions/engine.Store is one.
type Ledger interface {
	Store
	Remind(ctx context.Context, m sessions.Reminding) error
	Occurrences(ctx context.Context, job string, limit int) ([]sessions.Occurrence, error)
}

// Chats deliver what reminders say: internal/gateway.Gateway.
type Chats interface {
	// Remind fills m with text for m.Key, as its network takes it.
	Remind(m *sessions.Reminding, name, text string, taint []sessions.Origin)
	// Reminded lets k work on what the store was given for it.
	Reminded(k channels.Key)
}

// RunnerOptions tune a [Runner]. The zero value works.
type RunnerOptions struct {
	// Refused returns why nothing may be delivered to whoever wrote m; "": it may. Default:
	// all may.
	Refused func(ctx context.Context, m channels.Inbound) (why string, err error)
	// Count is called for each occurrence that has its outcome: "ran", "missed", "skipped"
	// or "failed". What a prompt leads to is counted when its turn ends.
	Count  func(outcome string)
	Logger *slog.Logger
}

// Runner fires what is due in a [Book]. Several may run on one store.
type Runner struct {
	book   *Book
	ledger Ledger
	chats  Chats
	o      RunnerOptions
}

// NewRunner makes a runner of b over its store. Nothing starts before Run.
func NewRunner(b *Book, l Ledger, c Chats, o RunnerOptions) *Runner {
	if o.Refused == nil {
		o.Refused = func(context.Context, channels.Inbound) (string, error) { return "", nil }
	}
	if o.Count == nil {
		o.Count = func(string) {}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Runner{book: b, ledger: l, chats: c, o: o}
}

// Run fires what comes due until ctx ends, then returns nil. While the store fails it tries
// again, at first after a second.
func (r *Runner) Run(ctx context.Context) error {
	var tidied time.Time
	for failures := 0; ; {
		sleep, err := r.Round(ctx)
		if now := r.book.o.Now(); err == nil && now.Sub(tidied).Abs() >= tidyEach {
			err = r.tidy(ctx)
			tidied = now
		}
		if err != nil && ctx.Err() == nil {
			r.o.Logger.Warn("reminders wait: their records cannot be read or written", "err", err)
			sleep = min(maxSleep, time.Second<<min(failures, 4))
			failures++
		} else {
			failures = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.book.wake:
		case <-time.After(sleep):
		}
	}
}

// Round fires what is due now, and returns how long there is nothing to do, as far as it
// knows. The error is the first of the store's; what it concerns stays due.
func (r *Runner) Round(ctx context.Context) (sleep time.Duration, err error) {
	notes, err := r.ledger.Notes(ctx, sessions.NoteFilter{Kind: Kind, DueBefore: far, Limit: maxRound})
	if err != nil {
		return 0, fmt.Errorf("reminders: read what is due: %w", err)
	}
	sleep = maxSleep
	for _, n := range notes {
		now := r.now()
		if n.Due.After(now) {
			return min(sleep, n.Due.Sub(now)), err
		}
		failed := r.fire(ctx, n, now)
		switch {
		case errors.Is(failed, sessions.ErrConflict): // another node, or its maker, was faster
		case failed != nil:
			err = cmp.Or(err, fmt.Errorf("reminders: fire %s of %s: %w", n.Name, n.Owner, failed))
			continue
		}
		sleep = 0
	}
	return sleep, err
}

// now is the wall clock without its monotonic reading, which would hide that the clock was
// set.
func (r *Runner) now() time.Time { return r.book.o.Now().Round(0).UTC() }

// fire ends the oldest occurrence of n, which is due.
func (r *Runner) fire(ctx context.Context, n sessions.Note, now time.Time) error {
	rem, is := read(n)
	if !is || rem.broken || rem.Key.IsZero() {
		r.o.Logger.Error("a reminder cannot be read: it will not be delivered", "reminder", n.Name, "owner", n.Owner)
		return r.stop(ctx, n)
	}
	why, err := r.mustPause(ctx, rem)
	if err != nil {
		return err
	}
	p, planned := rem.When.Plan(rem.From, r.book.zone(rem.Zone))
	if planned != nil {
		why = planned.Error()
	}
	if why != "" {
		return r.pause(ctx, n, rem, why)
	}
	o := newestDue(p, n.Due, now)
	switch {
	case o.tooLate:
		return r.miss(ctx, n, rem, o.next, o.before+1)
	case o.before > 0: // the newest one is delivered in a step of its own
		return r.miss(ctx, n, rem, o.due, o.before)
	}
	return r.deliver(ctx, n, rem, o, now)
}

// mustPause returns why rem is to be paused now; "" if it is not.
func (r *Runner) mustPause(ctx context.Context, rem reminder) (string, error) {
	why, err := r.o.Refused(ctx, rem.from())
	if why != "" || err != nil {
		return why, err
	}
	list, err := r.ledger.Occurrences(ctx, rem.job(), pauseAfter)
	if err != nil || len(list) < pauseAfter {
		return "", err
	}
	for _, o := range list {
		if o.Outcome != "failed" {
			return "", nil
		}
	}
	return fmt.Sprintf("it failed %d times in a row", pauseAfter), nil
}

// from is rem as a message of its maker.
func (r *reminder) from() channels.Inbound {
	return channels.Inbound{Key: r.Key, Sender: r.Maker, Private: r.Private, Addressed: true}
}

// job names the occurrences of r.
func (r *reminder) job() string { return r.owner + "/" + r.name }

// occurrence begins what is told to the store about the one at n.Due.
func occurrence(n sessions.Note, rem reminder, outcome, why string) sessions.Reminding {
	return sessions.Reminding{
		Note: n, Key: rem.Key, Author: sessions.AuthorOf(rem.from()),
		Occurrence: sessions.Occurrence{Job: rem.job(), Due: n.Due, Outcome: outcome, Why: why},
	}
}

// end stores m, with rem as it is from now on, due at next.
func (r *Runner) end(ctx context.Context, m sessions.Reminding, rem reminder, next time.Time) error {
	rem.due = next
	note, err := rem.note()
	if err != nil {
		return err
	}
	m.Next = &note
	err = r.ledger.Remind(ctx, m)
	if err != nil {
		return err
	}
	if m.Message == nil {
		r.o.Count(m.Occurrence.Outcome)
	}
	r.chats.Reminded(m.Key)
	return nil
}

// pause keeps rem without a due time.
func (r *Runner) pause(ctx context.Context, n sessions.Note, rem reminder, why string) error {
	r.o.Logger.Info("a reminder is paused", "reminder", rem.name, "owner", rem.owner, "key", rem.Key.String(), "why", why)
	rem.Paused = why
	return r.end(ctx, occurrence(n, rem, "skipped", "paused: "+why), rem, time.Time{})
}

// miss records count occurrences that nobody could deliver, the first at n.Due.
func (r *Runner) miss(ctx context.Context, n sessions.Note, rem reminder, next time.Time, count int) error {
	rem.Missed += count
	rem.Done = next.IsZero()
	why := fmt.Sprintf("%d came due while the daemon could not deliver them", count)
	switch {
	case count > maxOverdue:
		why = "at least " + why
	case count == 1:
		why = "it came due while the daemon could not deliver it"
	}
	return r.end(ctx, occurrence(n, rem, "missed", why), rem, next)
}

// deliver puts the text into the outbox, or the prompt into the inbox.
func (r *Runner) deliver(ctx context.Context, n sessions.Note, rem reminder, o overdue, now time.Time) error {
	missed := rem.Missed
	rem.Missed = 0
	rem.Fired = now
	rem.Done = o.next.IsZero()
	words := cmp.Or(rem.Text, rem.Prompt)
	if !rem.Private && rem.Maker.Name != "" && rem.Text != "" {
		words = "For " + rem.Maker.Name + ": " + words
	}
	words += r.lateness(rem, o, missed, now)
	m := occurrence(n, rem, "ran", "")
	if rem.Text != "" {
		taint := rem.Origins
		if !rem.Private { // others read the words of its maker
			taint = sessions.TaintOf(append(taint, sessions.OriginOthers)...).List()
		}
		r.chats.Remind(&m, rem.name, words, taint)
		return r.end(ctx, m, rem, o.next)
	}
	m.Occurrence.Outcome = "fired"
	asked := rem.from()
	asked.ID = fmt.Sprintf("reminder:%s:%d", rem.job(), n.Due.Unix())
	asked.Text = words
	asked.At = now
	asked.Origins = rem.Origins
	m.Message = &asked
	return r.end(ctx, m, rem, o.next)
}

// lateness is what is told about a delivery that is late, or before which others were
// missed; else "".
func (r *Runner) lateness(rem reminder, o overdue, missed int, now time.Time) string {
	var parts []string
	if o.late {
		form := "15:04"
		if now.Sub(o.due) > 20*time.Hour {
			form = "15:04 on Monday 2 January"
		}
		parts = append(parts, "was due at "+o.due.In(r.book.zone(rem.Zone)).Format(form)+"; I was not running")
	}
	switch {
	case missed == 1:
		parts = append(parts, "one before it was missed")
	case missed > 1:
		parts = append(parts, fmt.Sprintf("%d before it were missed", missed))
	}
	if len(parts) == 0 {
		return ""
	}
	return "\n\n(" + strings.Join(parts, "; ") + ")"
}

// stop leaves n, which cannot be read, without a due time.
func (r *Runner) stop(ctx context.Context, n sessions.Note) error {
	return r.ledger.ChangeNotes(ctx, Kind, n.Owner, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
		for _, h := range have {
			if h.Name == n.Name && h.Due.Equal(n.Due) {
				h.Due = time.Time{}
				put = append(put, h)
			}
		}
		return put, nil, nil
	})
}
