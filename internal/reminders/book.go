package reminders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/sessions"
)

// Make stores a new reminder of whoever asks, for the conversation in which they ask, and
// says what it is.
func (b *Book) Make(ctx context.Context, a Asker, o heartbeat.Order) (said string, err error) {
	r, moved, err := b.add(ctx, a, o)
	also := b.sayMoved(ctx, a, moved, "")
	if err != nil {
		return "", refusedBeside(err, also)
	}
	return b.say(ctx, a, r, r.name) + also, nil
}

// add stores a new reminder of a. It returns what has moved to a clock that they say with it.
func (b *Book) add(ctx context.Context, a Asker, o heartbeat.Order) (r reminder, moved []reminder, err error) {
	owner, err := a.owner()
	if err != nil {
		return r, nil, err
	}
	err = checkWords(o, true)
	if err != nil {
		return r, nil, err
	}
	name, zone, moved, err := b.zoneFor(ctx, a, owner, o)
	if err != nil {
		return r, nil, err
	}
	r = reminder{owner: owner, record: record{
		Key: a.Key, Private: a.Private, Maker: a.Person, Text: strings.TrimSpace(o.Text), Prompt: strings.TrimSpace(o.Prompt),
		Zone: name, Origins: sessions.TaintOf(a.Taint...).List(),
	}}
	err = b.plan(&r, o.When, zone)
	if err != nil {
		return r, moved, err
	}
	err = b.checkChat(ctx, a.Key)
	if err != nil {
		return r, moved, err
	}
	err = b.store.ChangeNotes(ctx, Kind, owner, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
		if len(readAll(have)) >= MaxPerson {
			return nil, nil, refuse("there are %d reminders already, and nobody may have more; cancel one first", MaxPerson)
		}
		name, remember, err := nextName(have)
		if err != nil {
			return nil, nil, err
		}
		r.name = name
		n, err := r.note()
		return []sessions.Note{n, remember}, nil, err
	})
	if err != nil {
		return r, moved, wrap("make a reminder", err)
	}
	b.changed()
	return r, moved, nil
}

// zoneFor is the zone for an order: the one that it names, which is kept, with what has moved
// there, or the person's.
func (b *Book) zoneFor(ctx context.Context, a Asker, owner string, o heartbeat.Order) (name string, zone *time.Location, moved []reminder, err error) {
	if o.Zone == "" {
		name, zone, err = b.zoneOf(ctx, owner)
		return name, zone, nil, err
	}
	zone, moved, err = b.SetZone(ctx, a, o.Zone)
	if err != nil {
		return "", nil, nil, err
	}
	return zone.String(), zone, moved, nil
}

// plan makes r due as w says, from now on.
func (b *Book) plan(r *reminder, w heartbeat.When, zone *time.Location) error {
	now := b.o.Now().UTC().Truncate(time.Second)
	p, err := w.Plan(now, zone)
	if err != nil {
		return refuse("%s", err)
	}
	if gap := p.Closest(); r.Prompt != "" && gap > 0 && gap < minPrompt {
		return refuse("a prompt may run once an hour at most; a text may come more often")
	}
	r.When = w
	r.From = now
	r.due = p.Next(now)
	r.Paused = ""
	r.Refused = false
	r.Since = time.Time{}
	r.Missed = 0
	return nil
}

// checkWords refuses an order without words, or with too many.
func checkWords(o heartbeat.Order, needed bool) error {
	text, prompt := strings.TrimSpace(o.Text), strings.TrimSpace(o.Prompt)
	words := text + prompt
	switch {
	case text != "" && prompt != "":
		return refuse("write text or prompt, not both: a text is delivered as it is, and a prompt is answered when it is due")
	case words == "" && needed:
		return refuse("write as text what to remind of, or as prompt what to do")
	case len(words) > maxText:
		return refuse("the text has %d bytes, and may have %d", len(words), maxText)
	case !utf8.ValidString(words) || strings.ContainsRune(words, 0):
		return refuse("the text is not UTF-8 text")
	}
	return nil
}

// checkChat refuses one more in a chat that is full.
func (b *Book) checkChat(ctx context.Context, k channels.Key) error {
	here, err := b.in(ctx, k, readAll)
	if err != nil {
		return err
	}
	if len(here) >= MaxChat {
		return refuse("this chat has %d reminders already, and may not have more; cancel one first", MaxChat)
	}
	return nil
}

// List says what a has, a line each, soonest first.
func (b *Book) List(ctx context.Context, a Asker) (said string, err error) {
	list, err := b.visible(ctx, a, readAll)
	if err != nil {
		return "", err
	}
	return b.lines(ctx, a, list), nil
}

// Change changes when a reminder is due or, if it is the asker's own, what it says. A new
// time ends a pause. A zone alone moves it to the clock there.
func (b *Book) Change(ctx context.Context, a Asker, name string, o heartbeat.Order) (said string, err error) {
	err = checkWords(o, false)
	if err != nil {
		return "", err
	}
	found, err := b.find(ctx, a, name)
	if err != nil {
		return "", err
	}
	owners, err := b.owners(ctx, a)
	if err != nil {
		return "", err
	}
	own := slices.Contains(owners, found.owner)
	words := o.Text+o.Prompt != ""
	timed := o.When != heartbeat.When{}
	moves := own && o.Zone != "" && !timed
	switch {
	case !words && !timed && !moves:
		return "", refuse("write what to change: text, prompt, or when")
	case !own && words:
		return "", refuse("only its maker may change what it says; when it is due can be changed, or it can be cancelled")
	}
	zoneName, zone := found.Zone, b.zone(found.Zone)
	var moved []reminder
	if own {
		zoneName, zone, moved, err = b.zoneFor(ctx, a, owners[0], o)
		if err != nil {
			return "", err
		}
	}
	var changed reminder
	err = b.store.ChangeNotes(ctx, Kind, found.owner, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
		at := slices.IndexFunc(have, func(n sessions.Note) bool { return n.Name == found.name })
		if at < 0 {
			return nil, nil, refuse("reminder %s has just ended", found.name)
		}
		r, _ := read(have[at])
		if r.broken {
			return nil, nil, refuse("reminder %s cannot be read; it can only be cancelled", r.name)
		}
		r.rewrite(o)
		r.Origins = sessions.TaintOf(append(r.Origins, a.Taint...)...).List()
		when := r.When
		if timed {
			when = o.When
			r.Zone = zoneName
		}
		switch {
		case timed || o.Prompt != "":
			err = b.replan(&r, when, zone, timed)
		case moves:
			err = b.moveOne(&r, zone)
		}
		if err != nil {
			return nil, nil, err
		}
		changed = r
		n, err := r.note()
		return []sessions.Note{n}, nil, err
	})
	if err != nil {
		return "", refusedBeside(wrap("change a reminder", err), b.sayMoved(ctx, a, moved, ""))
	}
	b.changed()
	return "Changed. " + b.say(ctx, a, changed, nameFor(owners, changed)) + b.sayMoved(ctx, a, moved, changed.job()), nil
}

// rewrite puts the words of o into r.
func (r *reminder) rewrite(o heartbeat.Order) {
	text, prompt := strings.TrimSpace(o.Text), strings.TrimSpace(o.Prompt)
	if text+prompt == "" {
		return
	}
	r.Text = text
	r.Prompt = prompt
}

// replan plans r anew as w says. With timed false, only whether a prompt may run as often
// is checked, and r stays due as it was.
func (b *Book) replan(r *reminder, w heartbeat.When, zone *time.Location, timed bool) error {
	if timed {
		return b.plan(r, w, zone)
	}
	p, err := w.Plan(r.From, b.zone(r.Zone))
	if err != nil {
		return refuse("%s", err)
	}
	if gap := p.Closest(); gap > 0 && gap < minPrompt {
		return refuse("a prompt may run once an hour at most; a text may come more often")
	}
	return nil
}

// Cancel ends a reminder. Restore can bring it back for an hour.
func (b *Book) Cancel(ctx context.Context, a Asker, name string) (said string, err error) {
	found, err := b.find(ctx, a, name)
	if err != nil {
		return "", err
	}
	owners, err := b.owners(ctx, a)
	if err != nil {
		return "", err
	}
	name = nameFor(owners, found)
	err = b.CancelNamed(ctx, found.job())
	if errors.Is(err, sessions.ErrNotFound) {
		return "", refuse("reminder %s has just ended", name)
	}
	if err != nil {
		return "", err
	}
	said = fmt.Sprintf("Cancelled reminder %s: %s", name, found.words())
	if found.broken {
		return said, nil // nothing is left of it
	}
	return said + "\n" + b.o.Spell(a.Key, "/jobs restore "+name) + " brings it back within the hour.", nil
}

// Restore brings back what was cancelled within the last hour, for those who may cancel it.
func (b *Book) Restore(ctx context.Context, a Asker, name string) (said string, err error) {
	found, err := b.findIn(ctx, a, name, b.restorable)
	if err != nil {
		return "", err
	}
	owners, err := b.owners(ctx, a)
	if err != nil {
		return "", err
	}
	err = b.checkChat(ctx, found.Key)
	if err != nil {
		return "", err
	}
	name = nameFor(owners, found)
	err = b.RestoreNamed(ctx, found.job())
	if errors.Is(err, sessions.ErrNotFound) {
		return "", refuse("reminder %s can no longer be brought back", name)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Reminder %s is back: %s", name, found.words()), nil
}

// wrap names what failed, unless err is a sentence for whoever asked.
func wrap(what string, err error) error {
	refusal, refused := errors.AsType[heartbeat.Refusal](err)
	if refused {
		return refusal
	}
	return fmt.Errorf("reminders: %s: %w", what, err)
}
