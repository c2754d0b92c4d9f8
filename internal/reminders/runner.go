package reminders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// askEach is how often it is asked whether somebody may talk again.
	askEach = time.Minute
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
	// refused: there may be reminders of somebody who may not talk. Run's goroutine owns it.
	refused bool
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
		each := tidyEach
		if r.refused {
			each = askEach
		}
		if now := r.book.o.Now(); err == nil && now.Sub(tidied).Abs() >= each {
			err = r.tidy(ctx)
			tidied = now
			sleep = 0
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
	var late []recipient
	for _, n := range notes {
		now := r.now()
		if n.Due.After(now) {
			sleep = min(sleep, n.Due.Sub(now))
			break
		}
		waits, failed := r.fire(ctx, n, now)
		switch {
		case waits != recipient{}:
			late = append(late, waits)
			continue
		case errors.Is(failed, sessions.ErrConflict): // another node, or its maker, was faster
		case failed != nil:
			err = cmp.Or(err, fmt.Errorf("reminders: fire %s of %s: %w", n.Name, n.Owner, failed))
			continue
		}
		sleep = 0
	}
	if len(late) == 0 || sleep == 0 {
		return sleep, err // what was fired may be due again, and late, too
	}
	return 0, cmp.Or(err, r.tellLate(ctx, late))
}

// now is the wall clock without its monotonic reading, which would hide that the clock was
// set.
func (r *Runner) now() time.Time { return r.book.o.Now().Round(0).UTC() }

// arrival is a reminder that has come due.
type arrival struct {
	overdue
	note sessions.Note
	rem  reminder
	// pause is why it must be paused; refused: its maker may not talk.
	pause   string
	refused bool
}

// judge finds out what is to become of n, which is due.
func (r *Runner) judge(ctx context.Context, n sessions.Note, now time.Time) (a arrival, err error) {
	rem, is := read(n)
	rem.broken = rem.broken || !is || rem.Key.IsZero()
	a = arrival{note: n, rem: rem}
	if rem.broken {
		return a, nil
	}
	a.pause, err = r.o.Refused(ctx, rem.from())
	a.refused = a.pause != ""
	if a.refused || err != nil {
		return a, err
	}
	a.pause, err = r.failing(ctx, rem)
	if err != nil {
		return a, err
	}
	p, planned := rem.When.Plan(rem.From, r.book.zone(rem.Zone))
	if planned != nil {
		a.pause = planned.Error()
		return a, nil
	}
	a.overdue = newestDue(p, n.Due, now)
	return a, nil
}

// fire ends the oldest occurrence of n, which is due. A text that is late is only looked at:
// waits is who must be told, with others.
func (r *Runner) fire(ctx context.Context, n sessions.Note, now time.Time) (waits recipient, err error) {
	a, err := r.judge(ctx, n, now)
	switch {
	case err != nil:
		return waits, err
	case a.rem.broken:
		r.o.Logger.Error("a reminder cannot be read: it will not be delivered", "reminder", n.Name, "owner", n.Owner)
		return waits, r.stop(ctx, n)
	case a.pause != "":
		return waits, r.pause(ctx, a)
	case a.tooLate:
		return waits, r.miss(ctx, a, a.next, a.before+1)
	case a.before > 0: // the newest one is delivered in a step of its own
		return waits, r.miss(ctx, a, a.due, a.before)
	case a.toldLate():
		return recipient{n.Owner, a.rem.Key}, nil
	case a.rem.Text != "":
		return waits, r.deliver(ctx, []arrival{a}, now)
	}
	return waits, r.ask(ctx, a, now)
}

// toldLate reports whether a is a text that is late.
func (a *arrival) toldLate() bool {
	return !a.rem.broken && a.pause == "" && a.late && !a.tooLate && a.before == 0 && a.rem.Text != ""
}

// failing returns why rem is to be paused now; "" if it is not.
func (r *Runner) failing(ctx context.Context, rem reminder) (string, error) {
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
	for _, d := range m.Also {
		r.o.Count(d.Occurrence.Outcome)
	}
	r.chats.Reminded(m.Key)
	return nil
}

// pause keeps a without a due time.
func (r *Runner) pause(ctx context.Context, a arrival) error {
	rem := a.rem
	r.o.Logger.Info("a reminder is paused", "reminder", rem.name, "owner", rem.owner, "key", rem.Key.String(), "why", a.pause)
	rem.Paused = a.pause
	rem.Refused = a.refused
	rem.Since = a.note.Due
	r.refused = r.refused || a.refused
	return r.end(ctx, occurrence(a.note, rem, "skipped", "paused: "+a.pause), rem, time.Time{})
}

// miss records count occurrences that nobody could deliver, the first at the Due of a's note.
func (r *Runner) miss(ctx context.Context, a arrival, next time.Time, count int) error {
	rem := a.rem
	rem.Missed += count
	rem.Done = next.IsZero()
	why := fmt.Sprintf("%d came due while the daemon could not deliver them", count)
	switch {
	case count > maxOverdue:
		why = "at least " + why
	case count == 1:
		why = "it came due while the daemon could not deliver it"
	}
	return r.end(ctx, occurrence(a.note, rem, "missed", why), rem, next)
}

// ask puts the prompt of a into the inbox.
func (r *Runner) ask(ctx context.Context, a arrival, now time.Time) error {
	late := r.lateness(a, now)
	rem := a.delivered(now)
	m := occurrence(a.note, rem, "fired", "")
	asked := rem.from()
	asked.ID = fmt.Sprintf("reminder:%s:%d", rem.job(), a.note.Due.Unix())
	asked.Text = rem.Prompt
	if late != "" {
		asked.Text += "\n\n" + late
	}
	asked.At = now
	asked.Origins = rem.Origins
	m.Message = &asked
	return r.end(ctx, m, rem, a.next)
}

// delivered is the reminder of a once it is delivered.
func (a *arrival) delivered(now time.Time) reminder {
	rem := a.rem
	rem.Missed = 0
	rem.Since = time.Time{}
	rem.Fired = now
	rem.Done = a.next.IsZero()
	return rem
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
