package reminders

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/heartbeat"
	"dragoman/sessions"
)

// snoozable is how long after it came due a reminder is meant by "snooze 1h".
const snoozable = 24 * time.Hour

// Snooze makes another reminder of what has come due where a asks: of the one called name,
// or of the last one of theirs for "". until is like "10m", "1h" or "tomorrow". One that
// repeats keeps its rhythm.
func (b *Book) Snooze(ctx context.Context, a Asker, name, until string) (said string, err error) {
	owners, err := b.owners(ctx, a)
	if err != nil {
		return "", err
	}
	fired, err := b.lastFired(ctx, a, owners, name)
	if err != nil {
		return "", err
	}
	switch len(fired) {
	case 0:
		return "", b.notDue(ctx, a, owners, name)
	case 1:
	default:
		return "", refuse("several reminders came together; say which, like snooze %s 1h", nameFor(owners, fired[len(fired)-1]))
	}
	r := fired[0]
	_, zone, err := b.zoneOf(ctx, owners[0])
	if err != nil {
		return "", err
	}
	until = strings.ToLower(strings.TrimSpace(until))
	when := heartbeat.When{In: until}
	_, notFor := time.ParseDuration(until)
	switch {
	case until == "tomorrow":
		when = heartbeat.When{At: b.o.Now().In(zone).AddDate(0, 0, 1).Format("2006-01-02T15:04")}
	case notFor != nil:
		return "", refuse("it is not clear how long “%.40s” is: write 10m, 1h30m or tomorrow", until)
	}
	a.Taint = append(a.Taint, r.Origins...)
	said, err = b.Make(ctx, a, heartbeat.Order{Text: r.Text, Prompt: r.Prompt, When: when})
	if err != nil {
		return "", err
	}
	what := fmt.Sprintf("“%s” comes", r.words())
	if r.Prompt != "" {
		what = fmt.Sprintf("The task “%s” runs", strings.TrimPrefix(r.words(), promptMark))
	}
	said = what + " again. " + said
	if !r.Done {
		return said, nil
	}
	err = b.store.ChangeNotes(ctx, Kind, r.owner, func([]sessions.Note) (put []sessions.Note, remove []string, err error) {
		return nil, []string{r.name}, nil // a second press finds nothing
	})
	return said, err
}

// notDue is why nothing of a, who is owners, can be put off, or not the one called name.
func (b *Book) notDue(ctx context.Context, a Asker, owners []string, name string) error {
	nothing := refuse("no reminder of yours has come due here lately")
	if name == "" {
		return nothing
	}
	r, err := b.find(ctx, a, name)
	switch {
	case err == nil && r.Fired.IsZero():
		return refuse("reminder %s has not come due yet; tell me in your own words when it should come instead", r.name)
	case err != nil && b.wasGiven(ctx, owners, name):
		number, _ := splitName(name)
		return refuse("reminder %s was put off before, or is over; %s shows what comes", number, b.o.Spell(a.Key, "/jobs"))
	}
	return nothing
}

// wasGiven reports whether one of owners once made a reminder called name. The store's errors
// are not worth one here.
func (b *Book) wasGiven(ctx context.Context, owners []string, name string) bool {
	number, on := splitName(name)
	n, err := strconv.Atoi(strings.TrimPrefix(number, "r"))
	if err != nil || n < 1 {
		return false
	}
	return slices.ContainsFunc(owners, func(owner string) bool {
		notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: Kind, Owner: owner, Name: LastName})
		if err != nil || len(notes) == 0 || !isOn(owner, on) {
			return false
		}
		var l last
		return json.Unmarshal(notes[0].Data, &l) == nil && n <= l.Number
	})
}

// CanSnooze reports whether a reminder of a has come due lately where they are.
func (b *Book) CanSnooze(ctx context.Context, a Asker) (bool, error) {
	_, err := a.owner()
	if err != nil {
		return false, nil //nolint:nilerr // whose would it be?
	}
	owners, err := b.owners(ctx, a)
	if err != nil {
		return false, err
	}
	fired, err := b.lastFired(ctx, a, owners, "")
	return len(fired) > 0, err
}

// lastFired is the reminder of owners that came due last where a is, or the one called name:
// that of the first of them who has one. It is more than one if they came in one message.
func (b *Book) lastFired(ctx context.Context, a Asker, owners []string, name string) (last []reminder, err error) {
	named, on := "", ""
	if name != "" {
		named, on = splitName(name)
	}
	for _, owner := range owners {
		if !isOn(owner, on) {
			continue
		}
		notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: Kind, Owner: owner, Name: named})
		if err != nil {
			return nil, wrap("find what came due", err)
		}
		for _, n := range notes {
			last = b.newer(last, a, n, named != "")
		}
		if named != "" && len(last) > 0 {
			break
		}
	}
	return last, nil
}

// newer is last, or n if that came due later where a is; both if they came in one message.
// One that is not named came due lately.
func (b *Book) newer(last []reminder, a Asker, n sessions.Note, named bool) []reminder {
	r, is := read(n)
	recent := b.o.Now().Sub(r.Fired) < snoozable || named
	if !is || r.Key != a.Key || r.Fired.IsZero() || !r.Cancelled.IsZero() || !recent {
		return last
	}
	switch {
	case len(last) == 0 || r.Fired.After(last[0].Fired):
		return []reminder{r}
	case r.Fired.Equal(last[0].Fired):
		return append(last, r)
	}
	return last
}
